import assert from "node:assert/strict";
import { test } from "vitest";
import { commands } from "#cmd/commands.ts";
import { COMMANDS } from "./command-summaries.ts";

test("COMMANDS: every command has an entry in the overview of the command line, and the other way round", () => {
  const names = commands.map(({ name }) => name).sort();
  assert.deepEqual(Object.keys(COMMANDS).sort(), names);
});
