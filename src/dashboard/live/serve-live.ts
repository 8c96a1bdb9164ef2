/**
 * The WebSocket `/live` of one page: opens, changes and closes subscriptions. All of them end with the
 * connection. Messages that are not understood end it.
 */

import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { WebSocketConnection } from "#lib/websocket/connection.ts";
import type { ApiAccess } from "../api-access.ts";
import type { Followed, LiveMessage, PageMessage } from "./messages.ts";
import { subscribeOverview } from "./overview-subscription.ts";
import { type Subscription, subscribeObjects, subscribeTable } from "./subscription.ts";

const SUBSCRIPTIONS_MAX = 64;
/** A collection, or one of a namespace; never a single object or a subresource. */
const COLLECTION = /^\/(api\/v1|apis\/[\w.-]+\/\w+)(\/namespaces\/[\w.-]+)?\/[\w.-]+$/;

export interface LiveOptions {
  readonly api: ApiAccess;
  readonly clock: Clock;
  readonly random: Random;
}

interface Open {
  readonly subscription: Subscription;
  readonly end: AbortController;
}

export async function serveLive(
  connection: WebSocketConnection,
  options: LiveOptions,
  signal: AbortSignal,
): Promise<void> {
  const open = new Map<number, Open>();
  const send = async (message: LiveMessage): Promise<void> => {
    await connection.send(Buffer.from(JSON.stringify(message)), true);
  };
  const closeAll = (): void => {
    for (const { end } of open.values()) end.abort();
    open.clear();
  };
  signal.addEventListener("abort", closeAll);
  try {
    for await (const { data } of connection.messages()) {
      const message = JSON.parse(data.toString("utf8")) as PageMessage;
      take(message);
    }
  } catch {
    // The page broke the protocol or the connection broke.
  } finally {
    signal.removeEventListener("abort", closeAll);
    closeAll();
    connection.close();
  }

  function take(message: PageMessage): void {
    const { id } = message;
    switch (message.op) {
      case "table": {
        const { view } = message;
        start(id, message, (common, end) => subscribeTable(common, view, end));
        return;
      }
      case "objects":
        start(id, message, subscribeObjects);
        return;
      case "overview":
        start(id, { path: "/api/v1/pods" }, subscribeOverview);
        return;
      case "view":
        open.get(id)?.subscription.look?.(message.view);
        return;
      case "close":
        open.get(id)?.end.abort();
        open.delete(id);
        return;
      default:
        throw new Error("unknown operation");
    }
  }

  function start(
    id: number,
    { path, labelSelector, fieldSelector, ownerUid }: Followed,
    subscribe: (common: Parameters<typeof subscribeObjects>[0], end: AbortSignal) => Subscription,
  ): void {
    open.get(id)?.end.abort();
    if (!COLLECTION.test(path) || open.size >= SUBSCRIPTIONS_MAX) {
      const message = COLLECTION.test(path) ? "too many subscriptions" : "not a collection";
      void send({ id, type: "error", code: 400, message });
      return;
    }
    const end = new AbortController();
    const selectors = {
      ...(labelSelector === undefined ? {} : { labelSelector }),
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
      ...(ownerUid === undefined ? {} : { ownerUid }),
    };
    const common = { ...options, ...selectors, id, path, send };
    open.set(id, { subscription: subscribe(common, end.signal), end });
  }
}
