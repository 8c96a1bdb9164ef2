/**
 * The writers of the fault campaign's load. Several of them update the same few ConfigMaps (registers), each
 * naming the revision that it read; others create ConfigMaps (items) and delete them later. Every value is
 * written once. Each writer records every request and its outcome.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "#lib/random.ts";
import type { HistoryRecord, Operation } from "./history.ts";
import { type LoadAnswer, type LoadClient, outcomeOf } from "./load-client.ts";

export const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const PAUSE_MS = 15;
/** An item is deleted after so many others were created. */
const KEPT_ITEMS = 20;

type Record = (record: HistoryRecord) => void;

/** Reads and updates registers until the signal aborts. */
export async function runRegisterWriter(
  name: string,
  registers: number,
  client: LoadClient,
  random: Random,
  record: Record,
  signal: AbortSignal,
): Promise<void> {
  for (let turn = 0; !signal.aborted; turn++) {
    await sleep(PAUSE_MS);
    const object = `register-${random.integer(registers)}`;
    const read = await client.ask({ method: "GET", path: `${CONFIG_MAPS}/${object}` });
    record(operation(name, object, "read", read, { value: read.json?.data?.value }));
    const value = `${name}-${turn}`;
    const data = { value };
    if (read.code === 404) {
      const body = { metadata: { name: object }, data };
      const made = await client.ask({ method: "POST", path: CONFIG_MAPS, body });
      record(operation(name, object, "create", made, { value }));
    }
    if (read.code !== 200) continue;
    const from = Number(read.json.metadata.resourceVersion);
    const body = { metadata: { name: object, resourceVersion: `${from}` }, data };
    const put = await client.ask({ method: "PUT", path: `${CONFIG_MAPS}/${object}`, body });
    record(operation(name, object, "update", put, { value, from }));
  }
}

/** Creates items, and deletes each of them once, until the signal aborts. */
export async function runItemWriter(
  name: string,
  client: LoadClient,
  record: Record,
  signal: AbortSignal,
): Promise<void> {
  const kept: string[] = [];
  for (let turn = 0; !signal.aborted; turn++) {
    await sleep(PAUSE_MS);
    const object = `item-${name}-${turn}`;
    const body = { metadata: { name: object }, data: { value: object } };
    const made = await client.ask({ method: "POST", path: CONFIG_MAPS, body });
    record(operation(name, object, "create", made, { value: object }));
    if (outcomeOf(made) === "ok") kept.push(object);
    if (kept.length <= KEPT_ITEMS) continue;
    const old = kept.shift()!;
    const gone = await client.ask({ method: "DELETE", path: `${CONFIG_MAPS}/${old}` });
    record(operation(name, old, "delete", gone, {}));
  }
}

function operation(
  client: string,
  object: string,
  verb: Operation["verb"],
  answer: LoadAnswer,
  more: Pick<Operation, "value" | "from">,
): Operation {
  const { startMs, endMs, server, code } = answer;
  const revision = Number(answer.json?.metadata?.resourceVersion);
  const outcome = outcomeOf(answer);
  const known = outcome === "ok" && verb !== "delete" && revision > 0 ? { revision } : {};
  return {
    ...{ k: "op", client, object, verb, startMs, endMs, outcome, server, code },
    ...more,
    ...known,
  };
}
