/** Events with the newest first. Pure. */
import type { EventObject } from "./kube-object.ts";

export function timeOfEvent(event: EventObject): string {
  const { series, lastTimestamp, eventTime, firstTimestamp, metadata } = event;
  return (
    series?.lastObservedTime ||
    lastTimestamp ||
    eventTime ||
    firstTimestamp ||
    metadata.creationTimestamp ||
    ""
  );
}

export function newestFirst(events: readonly EventObject[]): readonly EventObject[] {
  return events.toSorted((a, b) => Date.parse(timeOfEvent(b)) - Date.parse(timeOfEvent(a)));
}
