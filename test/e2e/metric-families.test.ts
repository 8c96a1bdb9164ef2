/** The metrics that docs/metrics.md promises to dashboards, on the built program. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { missingProgram } from "../../tools/debian-packages.ts";
import { buildProgram, type RunningProgram, startProgram } from "../built-program.ts";

const missing = missingProgram("kubectl");
const DOCS = new URL("../../docs/metrics.md", import.meta.url);

describe.skipIf(missing !== undefined)("metrics of k8ts up that kube-prometheus reads", () => {
  const folder = mkdtempSync(join(tmpdir(), "k8ts-families-"));
  let up: RunningProgram;

  beforeAll(async () => {
    buildProgram();
    const flags = ["--no-node", "--simulate", "1", "--port", "0", "--data", join(folder, "data")];
    up = startProgram(["up", "--foreground", ...flags]);
    await up.says(/ready in/);
  }, 120_000);

  afterAll(async () => {
    await up[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  const page = (): string => {
    const all = ["--kubeconfig", join(folder, "data", "kubeconfig"), "get", "--raw", "/metrics"];
    const { status, stdout, stderr } = spawnSync("kubectl", all, {
      encoding: "utf8",
      maxBuffer: 64 * 1024 * 1024,
    });
    assert.equal(status, 0, stderr);
    return stdout;
  };

  const untilPageHas = async (families: readonly string[]): Promise<readonly string[]> => {
    for (const endMs = performance.now() + 60_000; ; ) {
      const text = page();
      const absent = families.filter((family) => !text.includes(`# TYPE ${family} `));
      if (absent.length === 0 || performance.now() > endMs) return absent;
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  };

  test.each(["API server", "every component", "scheduler"])(
    "the families in the row %s of docs/metrics.md are on /metrics",
    async (from) => {
      const families = familiesOf(from);
      assert.ok(families.length >= 3, `${families.length} families`);
      assert.deepEqual(await untilPageHas(families), []);
    },
    90_000,
  );
});

/** Those of one row of the table, whose second column lists what is there. */
function familiesOf(from: string): readonly string[] {
  const row = readFileSync(DOCS, "utf8")
    .split("\n")
    .find((line) => line.startsWith(`| ${from} `));
  const listed = row?.split("|")[2] ?? "";
  return Array.from(listed.matchAll(/`([a-z_]+)`/g), ([, family]) => family!);
}
