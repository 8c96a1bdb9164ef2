/** The command palette: `:` or Ctrl+K, then a kind's name or short name, as in `:po`. */
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import { paletteEntries } from "../models/palette-entries.ts";
import { DashboardContext } from "../state/dashboard-context.ts";

export function Palette(props: { readonly namespace: string; close(): void }) {
  const { resources, go } = useContext(DashboardContext);
  const [typed, setTyped] = useState("");
  const [chosen, setChosen] = useState(0);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const entries = paletteEntries(resources, props.namespace, typed);
  const open = (path: string | undefined): void => {
    if (path === undefined) return;
    props.close();
    go(path);
  };
  const press = (event: KeyboardEvent): void => {
    const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };
    const step = steps[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setChosen((now) => Math.max(0, Math.min(entries.length - 1, now + step)));
    }
    if (event.key === "Enter") open(entries[chosen]?.path);
  };
  return (
    <dialog ref={dialog} class="palette" aria-label="Go to" onClose={props.close}>
      <input
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-entries"
        aria-activedescendant={`palette-${chosen}`}
        aria-label="Kind or view"
        placeholder="pods, deploy, svc, graph…"
        value={typed}
        onInput={({ currentTarget }) => {
          setTyped(currentTarget.value);
          setChosen(0);
        }}
        onKeyDown={press}
      />
      <div id="palette-entries" role="listbox" aria-label="Matches" tabIndex={-1}>
        {entries.map(({ title, detail, path }, index) => (
          <div
            key={path}
            id={`palette-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            onClick={() => open(path)}
            onKeyDown={({ key }) => key === "Enter" && open(path)}
          >
            <span>{title}</span> <small>{detail}</small>
          </div>
        ))}
      </div>
    </dialog>
  );
}
