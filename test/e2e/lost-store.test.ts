/** The built program on a data directory whose store is missing or damaged: nothing is lost silently. */
import assert from "node:assert/strict";
import {
  closeSync,
  cpSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { buildProgram, runProgram, startProgram } from "../built-program.ts";

describe("k8ts up on a store that is missing or damaged", () => {
  const folder = mkdtempSync(join(tmpdir(), "k8ts-lost-"));
  const original = join(folder, "original");
  let copies = 0;

  beforeAll(async () => {
    buildProgram();
    await using cluster = startProgram(up(original));
    await cluster.says(/KUBECONFIG/);
    assert.equal(await cluster.end("SIGTERM"), 0);
  }, 90_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const damages: { name: string; damage(store: string): void; says: RegExp }[] = [
    {
      name: "missing",
      damage: (store) => rmSync(store, { recursive: true }),
      says: /it is missing/,
    },
    {
      name: "emptied",
      damage: (store) => truncateSync(join(store, "data.mdb"), 0),
      says: /it is empty/,
    },
    {
      name: "cut short",
      damage: (store) => truncateSync(join(store, "data.mdb"), 20_000),
      says: /20000 of \d+ bytes are there/,
    },
    {
      name: "overwritten with zeros",
      damage: (store) => overwrite(join(store, "data.mdb"), 0, 100_000),
      says: /it holds nothing/,
    },
    {
      name: "damaged inside",
      damage: (store) => overwrite(join(store, "data.mdb"), 2 * 4096, 200 * 4096),
      says: /page \d+ is damaged/,
    },
  ];

  test.each(damages)("$name: is refused, and left as it is", ({ damage, says }) => {
    const data = copyWith(damage);
    const before = contentOf(data);
    const refused = runProgram(up(data));
    assert.equal(refused.status, 1, refused.stderr);
    assert.match(refused.stderr, says);
    assert.match(refused.stderr, /--new-cluster/);
    assert.equal(contentOf(data), before);
    const doctor = runProgram(["doctor", "--data", data]);
    assert.equal(doctor.status, 1);
    assert.match(doctor.stderr, says);
  });

  test.each(damages)(
    "$name: --new-cluster begins anew and keeps the rest",
    async ({ damage }) => {
      const data = copyWith(damage);
      const hadStore = existsSync(join(data, "store"));
      await using cluster = startProgram([...up(data), "--new-cluster"]);
      await cluster.says(/KUBECONFIG/);
      assert.equal(existsSync(join(data, "store.old-1")), hadStore);
      assert.equal(await cluster.end("SIGTERM"), 0);
      await using again = startProgram([...up(data), "--new-cluster"]); // no effect on a sound store
      await again.says(/KUBECONFIG/);
      assert.ok(!existsSync(join(data, "store.old-2")));
    },
    60_000,
  );

  function copyWith(damage: (store: string) => void): string {
    const data = join(folder, `copy-${copies++}`);
    cpSync(original, data, { recursive: true });
    damage(join(data, "store"));
    return data;
  }
});

function up(data: string): string[] {
  return [
    "up",
    "--foreground",
    "--no-node",
    "--data",
    data,
    "--port",
    "0",
    "--bind-address",
    "127.0.0.1",
  ];
}

function overwrite(file: string, start: number, end: number): void {
  const descriptor = openSync(file, "r+");
  writeSync(descriptor, Buffer.alloc(end - start), 0, end - start, start);
  closeSync(descriptor);
}

/** Of the store; a refused start makes nothing there but the folder. */
function contentOf(data: string): string {
  const store = join(data, "store");
  if (!existsSync(store)) return "";
  return readdirSync(store)
    .map((name) => `${name} ${readFileSync(join(store, name)).toString("latin1")}`)
    .join("\n");
}
