/** A link to another view: without loading the page again, unless the user wants a new tab. */
import type { ComponentChildren } from "preact";
import { useContext } from "preact/hooks";
import { DashboardContext } from "../state/dashboard-context.ts";

export function Link(props: {
  readonly to: string;
  readonly class?: string;
  readonly children: ComponentChildren;
  readonly isCurrent?: boolean;
}) {
  const { go } = useContext(DashboardContext);
  const follow = (event: MouseEvent): void => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    go(props.to);
  };
  return (
    <a
      href={props.to}
      class={props.class}
      onClick={follow}
      aria-current={props.isCurrent ? "page" : undefined}
    >
      {props.children}
    </a>
  );
}
