import assert from "node:assert/strict";
import { test } from "vitest";
import { seededRandom } from "#lib/random.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { createMemoryStore } from "#store/memory.ts";
import { type PortAllocation, PortAllocator } from "./port-allocator.ts";

const range = { first: 30_000, last: 32_767 };
const KEY = "/registry/ranges/servicenodeports";

async function world() {
  const store = createMemoryStore({ clock: new VirtualClock("2030-01-01T00:00:00Z") });
  const options = { store, random: seededRandom(1), range };
  const next = (allocator: PortAllocator): Promise<PortAllocation> =>
    allocator.take(false, (operation) => operation.allocateNext());
  const stored = async (): Promise<{ readonly data: string }> => {
    const { entry } = await store.get(KEY);
    return JSON.parse(Buffer.from(entry!.value).toString());
  };
  return {
    store,
    one: new PortAllocator(options),
    other: new PortAllocator(options),
    next,
    stored,
  };
}

test("node ports: 100 Services at once share few writes, and each gets a port of its own", async () => {
  const { store, one, next } = await world();
  const got = await Promise.all(Array.from({ length: 100 }, () => next(one)));
  const ports = got.map((allocation) => (allocation.ok ? allocation.port : 0));
  assert.equal(new Set(ports).size, 100);
  const { entry } = await store.get(KEY);
  assert.ok(entry!.version <= 3, `${entry!.version} writes`);
});

test("node ports: two API servers at once never give the same port", async () => {
  const { one, other, next } = await world();
  const got = await Promise.all(
    Array.from({ length: 60 }, (_, i) => next(i % 2 === 0 ? one : other)),
  );
  assert.equal(new Set(got.map((allocation) => allocation.ok && allocation.port)).size, 60);
});

test("node ports: RangeAllocation is a big-endian bitmap as upstream stores it; released ports are free", async () => {
  const { one, stored } = await world();
  const take = (port: number): Promise<PortAllocation> =>
    one.take(false, (operation) => operation.allocate(port));
  assert.ok((await take(30_000)).ok);
  assert.ok((await take(30_009)).ok);
  assert.equal((await stored()).data, Buffer.from([0b10, 0b1]).toString("base64"));
  assert.deepEqual(await take(30_009), { ok: false, error: "provided port is already allocated" });
  await one.release([30_009]);
  assert.equal((await stored()).data, Buffer.from([0b1]).toString("base64"));
  assert.ok((await take(30_009)).ok);
  await one.release([30_000, 30_009]);
  assert.equal((await stored()).data, "");
});

test("node ports: a dry run takes nothing", async () => {
  const { one, store } = await world();
  assert.ok((await one.take(true, (operation) => operation.allocateNext())).ok);
  assert.equal((await store.get(KEY)).entry, undefined);
});
