/** What can be done with an object. Each action says what it does, and is tried as a dry run first. */
import { useState } from "preact/hooks";
import { type Action, actionsFor, scaleAction } from "../models/actions.ts";
import type { KubeObject } from "../models/kube-object.ts";
import type { Resource } from "../models/resources.ts";
import { Confirmation } from "./confirmation.tsx";
import { DrainDialog } from "./drain-dialog.tsx";

export function ActionBar(props: { readonly resource: Resource; readonly object: KubeObject }) {
  const { resource, object } = props;
  const [chosen, setChosen] = useState<Action | undefined>();
  const replicas = Number(object.spec?.replicas ?? 0);
  const [wanted, setWanted] = useState(replicas);
  const [isDraining, setDraining] = useState(false);
  const isNode = resource.group === "" && resource.plural === "nodes";
  const canScale = resource.subresources.includes("scale");
  return (
    <div class="tools" role="toolbar" aria-label="Actions">
      {canScale && (
        <>
          <input
            type="number"
            min={0}
            aria-label="Replicas"
            value={wanted}
            onInput={({ currentTarget }) => setWanted(Number(currentTarget.value))}
          />
          <button type="button" onClick={() => setChosen(scaleAction(resource, object, wanted))}>
            Scale
          </button>
        </>
      )}
      {actionsFor(resource, object, Date.now()).map((action) => (
        <button
          key={action.title}
          type="button"
          class={action.isDangerous ? "danger" : ""}
          onClick={() => setChosen(action)}
        >
          {action.title}
        </button>
      ))}
      {isNode && (
        <button type="button" class="danger" onClick={() => setDraining(true)}>
          Drain
        </button>
      )}
      {isDraining && <DrainDialog node={object} close={() => setDraining(false)} />}
      {chosen !== undefined && (
        <Confirmation action={chosen} object={object} close={() => setChosen(undefined)} />
      )}
    </div>
  );
}
