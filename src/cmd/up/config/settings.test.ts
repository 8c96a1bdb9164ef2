import assert from "node:assert/strict";
import { Command as Parser } from "commander";
import { describe, test } from "vitest";
import { FlagError } from "../../flags/parse-flags.ts";
import { argumentsOf, settingsFrom, settingsOf } from "./settings.ts";

const { options } = new Parser()
  .option("--no-node", "")
  .option("--port <port>", "")
  .option("--encrypt-secrets [bool]", "")
  .option("--local-storage", "")
  .option("--tls-san <name>", "")
  .option("-v, --v <level>", "");

describe("k8ts up: flags in a configuration file", () => {
  test("--port, --no-node and --tls-san become settings of these names, and flags again", () => {
    const args = ["--no-node", "--port", "7", "--encrypt-secrets", "--tls-san=a", "--tls-san", "b"];
    const { settings, others } = settingsOf([...args, "-v", "3", "--odd=1", "word"], options);
    assert.deepEqual(settings, {
      node: false,
      port: "7",
      "encrypt-secrets": true,
      "tls-san": ["a", "b"],
      v: "3",
    });
    assert.deepEqual(others, ["--odd=1", "word"]);
    assert.deepEqual(argumentsOf(settings, options, "f"), [
      ...["--no-node", "--port=7", "--encrypt-secrets=true", "--tls-san=a", "--tls-san=b", "--v=3"],
    ]);
  });

  test("node: true and local-storage: false give no argument", () => {
    assert.deepEqual(argumentsOf({ node: true, "local-storage": false }, options, "f"), []);
  });

  test.each([
    { content: { prot: 1 }, says: "f: unknown flag: prot (did you mean port?)" },
    { content: { node: "maybe" }, says: "f: node must be true or false" },
    { content: ["a"], says: "f: must be a map of flags and their values" },
    {
      content: { port: { a: 1 } },
      says: "f: port must be a text, a number, true, false, or a list of them",
    },
  ])("settings $content are refused: $says", ({ content, says }) => {
    assert.throws(() => argumentsOf(settingsFrom(content, "f"), options, "f"), new FlagError(says));
  });
});
