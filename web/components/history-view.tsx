/** The revisions of a workload, and the way back to one of them. */
import { useState } from "preact/hooks";
import type { Action } from "../models/actions.ts";
import { ageOf } from "../models/age.ts";
import type { KubeObject } from "../models/kube-object.ts";
import { collectionPath, type Resource } from "../models/resources.ts";
import { revisionSource, rolloutHistory } from "../models/rollout-history.ts";
import { useObjects } from "../state/use-live.ts";
import { useNow } from "../state/use-now.ts";
import { Confirmation } from "./confirmation.tsx";
import { Problem } from "./problem.tsx";

export function HistoryView(props: { readonly resource: Resource; readonly object: KubeObject }) {
  const { resource, object } = props;
  const nowMs = useNow();
  const [chosen, setChosen] = useState<Action | undefined>();
  const source = { group: "apps", version: "v1", plural: revisionSource(resource) ?? "" };
  const { objects, isReady, error } = useObjects<KubeObject>({
    path: collectionPath(source, object.metadata.namespace ?? ""),
  });
  const revisions = rolloutHistory(resource, object, objects);
  return (
    <>
      <Problem text={error} />
      {isReady && revisions.length === 0 && <p>No revision is kept.</p>}
      <section class="scrolled" aria-label="Revisions">
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">Revision</th>
              <th scope="col">Images</th>
              <th scope="col">Change cause</th>
              <th scope="col">Age</th>
              <th scope="col">Action</th>
            </tr>
          </thead>
          <tbody>
            {revisions.map(({ revision, images, cause, createdAt, isCurrent, undo }) => (
              <tr key={revision}>
                <td>{revision}</td>
                <td>{images.join(", ")}</td>
                <td class="message">{cause}</td>
                <td>{ageOf(createdAt, nowMs)}</td>
                <td>
                  {isCurrent ? (
                    "current"
                  ) : (
                    <button type="button" onClick={() => setChosen(undo)}>
                      {undo.title}
                    </button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {chosen !== undefined && (
        <Confirmation action={chosen} object={object} close={() => setChosen(undefined)} />
      )}
    </>
  );
}
