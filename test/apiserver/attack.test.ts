/** A short form of bench/attack.bench.ts: the built program answers others while one client attacks. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import { ATTACKS, VICTIM } from "../../bench/attack/attacks.ts";
import { openHttp1 } from "../../bench/load/http1-asker.ts";
import { makePods } from "../../bench/load/pods.ts";
import { type ServerProcess, startProgram } from "../../bench/load/server-processes.ts";
import { buildProgram } from "../built-program.ts";

/** Far above the bar of the benchmark, and far below what these requests once took. */
const WAIT_MAX_MS = 3_000;

const NAMES = [
  "10,000 Impersonate-Extra headers",
  "half-sent bodies of 3 MB",
  "2.9 MB YAML flat map to selfsubjectaccessreviews",
  "pod with 900,000 empty containers",
  "pod with 8,000 managedFields entries",
  "merge patch of 240,000 unknown keys",
];

const directory = mkdtempSync(join(tmpdir(), "k8ts-test-attack-"));
let server: ServerProcess;

beforeAll(async () => {
  buildProgram();
  server = await startProgram(["apiserver"], join(directory, "data"));
  using asker = await openHttp1(server.port, server.identity);
  await makePods([asker], 1, () => VICTIM);
}, 120_000);

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

test.each(NAMES)(
  "GET of another client is answered during: %s",
  { timeout: 60_000 },
  async (name) => {
    const attack = ATTACKS.find((one) => one.name === name)!;
    using asker = await openHttp1(server.port, server.identity);
    let over = false;
    let longestMs = 0;
    const sent = attack.send(server, { connections: 50 }).finally(() => {
      over = true;
    });
    while (!over) {
      const startMs = performance.now();
      await asker.ask({ method: "GET", path: "/api/v1/namespaces/default" });
      longestMs = Math.max(longestMs, performance.now() - startMs);
    }
    await sent;
    assert.ok(longestMs < WAIT_MAX_MS, `another client waited for ${longestMs} ms`);
  },
);
