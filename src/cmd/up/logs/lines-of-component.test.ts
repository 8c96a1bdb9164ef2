import assert from "node:assert/strict";
import { test } from "vitest";
import { componentsIn, linesOfComponent } from "./lines-of-component.ts";

const TEXT = `now info leading component=scheduler lease=a
now info leading component=scheduler-2
{"msg":"leading","component":"scheduler"}
now info other component=apiserver
of the process
`;

test("logs of one component: text and JSON lines with its name, no others", () => {
  const lines = linesOfComponent("scheduler")(TEXT).split("\n");
  assert.deepEqual(lines, [
    "now info leading component=scheduler lease=a",
    '{"msg":"leading","component":"scheduler"}',
    "",
  ]);
  assert.equal(linesOfComponent(undefined)(TEXT), TEXT);
});

test("components that have logged: names of text and JSON lines", () => {
  assert.deepEqual([...componentsIn([TEXT])].sort(), ["apiserver", "scheduler", "scheduler-2"]);
});
