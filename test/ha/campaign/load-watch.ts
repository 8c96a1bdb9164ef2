/**
 * A watch of all ConfigMaps of the load, as an informer does it: it goes on from the last revision at another
 * server when its server ends or says nothing, and lists again when the revision is too old (410). It records
 * every event.
 */
import { request } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { type HistoryRecord, type Item, nowMs } from "./history.ts";
import type { LoadClient, LoadTarget } from "./load-client.ts";

export interface LoadWatch {
  readonly name: string;
  readonly targets: readonly LoadTarget[];
  readonly ca: string;
  readonly token: string;
  readonly path: string;
  readonly client: LoadClient;
  readonly record: (record: HistoryRecord) => void;
  /** What to write down of an event; events of the load's own objects unless given. */
  readonly onObject?: (type: string, object: WatchedObject) => void;
}

export interface WatchedObject {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
  readonly data?: { readonly value?: string };
  readonly spec?: { readonly holderIdentity?: string; readonly nodeName?: string };
}

const PAUSE_MS = 20;
/** A healthy watch of a namespace that is written to all the time is never silent for so long. */
const SILENT_MS = 6_000;

export async function runWatch(watch: LoadWatch, signal: AbortSignal): Promise<void> {
  let revision: string | undefined;
  const forget = (): void => {
    revision = undefined;
  };
  for (let turn = 0; !signal.aborted; turn++) {
    const target = watch.targets[turn % watch.targets.length]!;
    revision ??= await begin(watch, target);
    if (revision !== undefined) {
      await followOnce(watch, target, revision, signal, {
        onExpired: forget,
        onEvent: (type, object) => {
          revision = object.metadata.resourceVersion;
          if (type !== "BOOKMARK") seen(watch, type, object);
        },
      });
    }
    if (!signal.aborted) await sleep(PAUSE_MS);
  }
}

/** Lists; undefined if the server does not answer. */
async function begin(watch: LoadWatch, target: LoadTarget): Promise<string | undefined> {
  const { name: watcher, path, client, record, onObject } = watch;
  const { code, json } = await client.askOne(target, { method: "GET", path });
  if (code !== 200) return undefined;
  const objects = (json.items as WatchedObject[]).filter(isOwn);
  const items = objects.map(itemOf);
  const revision = Number(json.metadata.resourceVersion);
  if (onObject === undefined) record({ k: "begin", watcher, revision, items, atMs: nowMs() });
  else for (const object of json.items) onObject("ADDED", object);
  return json.metadata.resourceVersion;
}

/** Objects that the load itself has made. */
export function isOwn({ metadata: { name } }: WatchedObject): boolean {
  return /^(register|item)-/.test(name);
}

export function itemOf({ metadata, data }: WatchedObject): Item {
  return [metadata.name, Number(metadata.resourceVersion), data?.value ?? ""];
}

function seen({ name, record, onObject }: LoadWatch, type: string, object: WatchedObject): void {
  if (onObject !== undefined) {
    onObject(type, object);
    return;
  }
  if (!isOwn(object)) return;
  const [own, revision, value] = itemOf(object);
  record({
    ...{ k: "event", watcher: name, type: type as "ADDED", object: own, revision, value },
    atMs: nowMs(),
  });
}

interface Handlers {
  onEvent(type: string, object: WatchedObject): void;
  onExpired(): void;
}

/** Ends when the watch does, for whatever reason. */
function followOnce(
  { path, ca, token }: LoadWatch,
  { host, port }: LoadTarget,
  revision: string,
  signal: AbortSignal,
  { onEvent, onExpired }: Handlers,
): Promise<void> {
  return new Promise((resolve) => {
    const outgoing = request({
      ...{ host, port, ca, signal, agent: false },
      path: `${path}?watch=1&allowWatchBookmarks=true&resourceVersion=${revision}`,
      headers: { authorization: `Bearer ${token}` },
    });
    let timer: NodeJS.Timeout;
    const heard = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => outgoing.destroy(), SILENT_MS);
    };
    const end = (): void => {
      clearTimeout(timer);
      resolve();
    };
    heard();
    outgoing.on("error", end);
    outgoing.on("response", (response) => {
      if (response.statusCode === 410) onExpired();
      let rest = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        heard();
        const lines = (rest + chunk).split("\n");
        rest = lines.pop() ?? "";
        if (response.statusCode !== 200) return;
        for (const line of lines) {
          const { type, object } = JSON.parse(line);
          if (type !== "ERROR") onEvent(type, object);
          else if (object.code === 410) onExpired();
        }
      });
      response.on("error", end);
      response.on("close", end);
    });
    outgoing.end();
  });
}
