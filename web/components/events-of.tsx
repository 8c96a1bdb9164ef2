/** The events about an object, the newest first. */
import { ageOf } from "../models/age.ts";
import { newestFirst, timeOfEvent } from "../models/event-list.ts";
import type { EventObject, KubeObject } from "../models/kube-object.ts";
import { useObjects } from "../state/use-live.ts";
import { useNow } from "../state/use-now.ts";
import { Problem } from "./problem.tsx";

export function EventsOf({ object }: { readonly object: KubeObject }) {
  const nowMs = useNow();
  const { uid, namespace } = object.metadata;
  const { objects, isReady, error } = useObjects<EventObject>({
    // Events of objects without a namespace are in "default".
    path: `/api/v1/namespaces/${namespace ?? "default"}/events`,
    fieldSelector: `involvedObject.uid=${uid}`,
  });
  return (
    <>
      <Problem text={error} />
      {isReady && objects.length === 0 && <p>No events. They are kept for an hour.</p>}
      <ul class="events">
        {newestFirst(objects).map((event) => (
          <li key={event.metadata.uid}>
            <span class={`state ${event.type === "Warning" ? "failed" : "running"}`}>
              {event.reason}
            </span>{" "}
            <span class="message">{event.message}</span>{" "}
            <time>
              {ageOf(timeOfEvent(event), nowMs)}
              {(event.series?.count ?? event.count ?? 1) > 1 &&
                ` (×${event.series?.count ?? event.count})`}
            </time>
          </li>
        ))}
      </ul>
    </>
  );
}
