/** Watches of both servers while both write: the same events in the same order. */
import { once } from "node:events";
import { request } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { openHttp1 } from "../load/http1-asker.ts";
import type { ServerProcess } from "../load/server-processes.ts";
import { askJson, type Compared, type Pair } from "./compared.ts";

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const OBJECTS = 100;
const WAIT_MS = 30_000;

export async function* compareWatches({ ours, theirs }: Pair): AsyncIterable<Compared> {
  using own = await openHttp1(ours.port, ours.identity);
  using other = await openHttp1(theirs.port, theirs.identity);
  const list = await askJson(own, "GET", `${CONFIG_MAPS}?limit=1`);
  const { resourceVersion } = list.metadata as { resourceVersion: string };
  const path = `${CONFIG_MAPS}?watch=true&resourceVersion=${resourceVersion}`;
  using ourWatch = await openEvents(ours, path);
  using theirWatch = await openEvents(theirs, path);
  const writers = [own, other];
  for (let n = 0; n < OBJECTS; n++) {
    const writer = writers[n % 2]!;
    await askJson(writer, "POST", CONFIG_MAPS, { metadata: { name: `watched-${n}` } });
    const next = writers[(n + 1) % 2]!;
    await askJson(next, "DELETE", `${CONFIG_MAPS}/watched-${n}`);
  }
  const startMs = performance.now();
  const wanted = 2 * OBJECTS;
  const isDone = (): boolean =>
    ourWatch.events.length >= wanted && theirWatch.events.length >= wanted;
  while (!isDone() && performance.now() - startMs < WAIT_MS) await sleep(50);
  const differences = Array.from({ length: wanted }, (_, n) => n).flatMap((n) => {
    const [a, b] = [ourWatch.events[n], theirWatch.events[n]];
    return a === b ? [] : [`event ${n}: ${a} and ${b}`];
  });
  yield { what: "events of a watch on both servers", count: wanted, differences };
}

/** `ADDED watched-0 1234`, of each event. */
async function openEvents(
  { port, identity }: ServerProcess,
  path: string,
): Promise<Disposable & { readonly events: readonly string[] }> {
  const events: string[] = [];
  const asked = request({ host: "127.0.0.1", port, path, ...identity, agent: false });
  asked.on("error", () => undefined);
  asked.end();
  const [response] = await once(asked, "response");
  let rest = "";
  response.setEncoding("utf8");
  response.on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const { type, object } = JSON.parse(line);
      events.push(`${type} ${object.metadata.name} ${object.metadata.resourceVersion}`);
    }
  });
  return { events, [Symbol.dispose]: () => asked.destroy() };
}
