import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "vitest";
import { upOptions } from "../up-flags.ts";
import { configuredStart, rememberSettings } from "./config-file.ts";

describe("k8ts up: what was remembered and what is given", () => {
  let data = "";
  beforeEach(() => {
    data = mkdtempSync(join(tmpdir(), "k8ts-config-"));
  });
  afterEach(() => rmSync(data, { recursive: true, force: true }));

  const rows = [
    { name: "--nodes replaces --no-node", before: ["--no-node"], now: ["--nodes=2"] },
    { name: "--no-node replaces --nodes", before: ["--nodes=2"], now: ["--no-node"] },
    { name: "--port replaces --secure-port", before: ["--secure-port=1"], now: ["--port=2"] },
  ];
  for (const { name, before, now } of rows) {
    test(`${name} of the last start`, () => {
      const options = upOptions();
      const start = (args: readonly string[]) =>
        configuredStart([`--data=${data}`, "--simulate=3", ...args], options);
      rememberSettings(start(before), options);
      const { args } = start(now);
      const names = args.map((arg) => arg.split("=")[0]);
      const replaced = before.map((arg) => arg.split("=")[0]!);
      assert.ok(!names.includes(replaced[0]), args.join(" "));
      assert.ok(args.includes(now[0]!), args.join(" "));
    });
  }
});
