/** Asks before an action: what it does, and what the server answers to a dry run of it. */
import { useEffect, useRef, useState } from "preact/hooks";
import { type Action, withDryRun } from "../models/actions.ts";
import type { KubeObject } from "../models/kube-object.ts";
import { callApi } from "../state/api.ts";
import { Difference } from "./difference.tsx";
import { Problem } from "./problem.tsx";

type Trial =
  | { readonly state: "running" }
  | { readonly state: "fine"; readonly after: KubeObject }
  | { readonly state: "refused"; readonly why: string };

export function Confirmation(props: {
  readonly action: Action;
  readonly object: KubeObject;
  close(): void;
}) {
  const { action, object, close } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const [trial, setTrial] = useState<Trial>({ state: "running" });
  useEffect(() => {
    dialog.current?.showModal();
    send(action, withDryRun(action.path)).then(
      (after) => setTrial({ state: "fine", after }),
      (error: unknown) => setTrial({ state: "refused", why: messageOf(error) }),
    );
  }, []);
  const act = async (): Promise<void> => {
    try {
      await send(action, action.path);
      close();
    } catch (error) {
      setTrial({ state: "refused", why: messageOf(error) });
    }
  };
  return (
    <dialog ref={dialog} class="confirmation" aria-label={action.title} onClose={close}>
      <h2>{action.title}</h2>
      <p>{action.effect}</p>
      {trial.state === "running" && <p>The server is trying it…</p>}
      {trial.state === "refused" && <Problem text={trial.why} />}
      {trial.state === "fine" && action.showsDifference && (
        <Difference before={object} after={trial.after} />
      )}
      {trial.state === "fine" && !action.showsDifference && <p>The server would accept it.</p>}
      <button
        type="button"
        class={action.isDangerous ? "danger" : "primary"}
        disabled={trial.state !== "fine"}
        onClick={() => void act()}
      >
        {action.title}
      </button>{" "}
      <button type="button" onClick={close}>
        Cancel
      </button>
    </dialog>
  );
}

function send(action: Action, path: string): Promise<KubeObject> {
  const { method, contentType, body } = action;
  return callApi<KubeObject>(path, {
    method,
    body,
    ...(contentType === undefined ? {} : { contentType }),
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
