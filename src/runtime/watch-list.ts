/**
 * Lists a kind with a watch (`sendInitialEvents`), for clients that may watch it but not list it.
 */
import type { KubeObject } from "#api/kind.ts";
import type { Client, ListOptions, Typed } from "#client/client.ts";
import { INITIAL_EVENTS_END } from "#client/transport.ts";

/** The server ends the watch if it never says that the state is complete. */
const TIMEOUT_SECONDS = 5;

/** Throws if the server refuses, or does not mark the end of the initial events. */
export async function watchList<T extends KubeObject>(
  client: Pick<Client, "watch">,
  kind: Typed<T>,
  scope: Pick<ListOptions, "namespace" | "fieldSelector" | "labelSelector">,
): Promise<readonly T[]> {
  const life = new AbortController();
  const options = {
    ...scope,
    sendInitialEvents: true,
    resourceVersionMatch: "NotOlderThan",
    timeoutSeconds: TIMEOUT_SECONDS,
  } as const;
  const objects: T[] = [];
  try {
    for await (const events of client.watch(kind, options, life.signal)) {
      for (const event of events) {
        if (event.type === "ERROR")
          throw new Error(event.object.message ?? "the watch was refused");
        if (event.type === "ADDED") objects.push(event.object);
        const isEnd = event.object.metadata.annotations?.[INITIAL_EVENTS_END] === "true";
        if (event.type === "BOOKMARK" && isEnd) return objects;
      }
    }
  } finally {
    life.abort();
  }
  throw new Error(`a watch of ${kind.names.plural} did not mark the end of the initial events`);
}
