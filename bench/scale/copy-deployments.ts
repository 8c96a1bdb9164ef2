/**
 * Multiplies the Deployments of scale-load.ts, their ReplicaSets and pods in the store of a cluster that does
 * not run: 150,000 running pods in a minute, where a cluster takes many to make them.
 */
import { systemClock } from "#lib/time/system-clock.ts";
import { OPERATIONS_MAX, type Operation } from "#store/contract.ts";
import { openEmbeddedStore } from "#store/embedded.ts";

const RESOURCES = ["deployments", "replicasets", "pods"];
const NAME = /web-(\d+)/g;
/** UIDs, and those in the ids of simulated containers, which are without hyphens. */
const UID =
  /(?<=simulated:\/\/)[0-9a-f]{8}(?=[0-9a-f]{24})|[0-9a-f]{8}(?=-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12})/g;
/** Each copy adds as often to the first eight digits of every UID. */
const UID_STEP = 0x01010101;

/** Adds copies of the first `count` Deployments until there are `wanted`. */
export async function copyDeployments(directory: string, count: number, wanted: number) {
  await using store = await openEmbeddedStore({ directory, clock: systemClock });
  const sources: { readonly key: string; readonly text: string; readonly number: number }[] = [];
  for (const resource of RESOURCES) {
    const { entries } = await store.range(`/registry/${resource}/default/web-`);
    for (const { key, value } of entries) {
      const number = Number([...key.matchAll(NAME)][0]?.[1]);
      sources.push({ key, text: Buffer.from(value).toString("utf8"), number });
    }
  }
  for (let copy = 1; copy * count < wanted; copy++) {
    const renamed = (text: string): string =>
      text.replace(NAME, (_, number) => `web-${Number(number) + copy * count}`);
    const copied = sources.filter(({ number }) => number + copy * count < wanted);
    for (let start = 0; start < copied.length; start += OPERATIONS_MAX) {
      const operations = copied
        .slice(start, start + OPERATIONS_MAX)
        .map(({ key, text }): Operation => {
          const value = Buffer.from(renamed(text).replace(UID, (digits) => moved(digits, copy)));
          return { op: "put", key: renamed(key), value, mustNotExist: true };
        });
      const written = await store.transact(operations);
      if (!written.ok) throw new Error(`${operations[0]?.key} is there already`);
    }
  }
}

function moved(digits: string, copy: number): string {
  const sum = (Number.parseInt(digits, 16) + copy * UID_STEP) >>> 0;
  return sum.toString(16).padStart(8, "0");
}
