import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "vitest";
import { silentLogger } from "#lib/logger.ts";
import { Metrics } from "#lib/metrics.ts";
import { seededRandom } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import type { ApiServerFlags } from "./flags/flags.ts";
import { followConfigs } from "./follow-config.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "follow-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const config = (...types: string[]): string =>
  JSON.stringify({
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "AuthorizationConfiguration",
    authorizers: types.map((type) => ({ type, name: type.toLowerCase() })),
  });

test("followConfigs: a good file replaces what was in force; a bad one does not", async () => {
  const file = join(folder, "authz.yaml");
  writeFileSync(file, config("RBAC"));
  const used: unknown[] = [];
  const ending = new AbortController();
  const metrics = new Metrics();
  // No settling delay, so that only the file system's notification is waited for.
  const clock: Clock = { ...systemClock, schedule: (_, task) => systemClock.schedule(0, task) };
  followConfigs(
    { authorizationConfig: file } as ApiServerFlags,
    {
      replace: {
        issuers: () => Promise.resolve(),
        authorizers: (modes: unknown) => void used.push(modes),
      },
    },
    { clock, random: seededRandom(1), logger: silentLogger, metrics, identity: "a" },
    ending.signal,
  );
  const until = async (holds: () => boolean): Promise<void> => {
    while (!holds()) await systemClock.sleep(1);
  };
  writeFileSync(file, config("RBAC", "AlwaysDeny"));
  await until(() => used.length === 1);
  assert.deepEqual(used, [["RBAC", "AlwaysDeny"]]);
  writeFileSync(file, config("AlwaysDeny"));
  await until(() => /reloads_total{[^}]*status="failure"} 1/.test(metrics.text()));
  assert.equal(used.length, 1);
  assert.match(metrics.text(), /reloads_total{[^}]*status="success"} 1/);
  ending.abort();
});
