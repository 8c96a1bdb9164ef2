import assert from "node:assert/strict";
import { test } from "vitest";
import { checkFile } from "./layers.ts";

const cases: { name: string; path: string; source: string; want: RegExp | undefined }[] = [
  {
    name: "a lower layer",
    path: "store/a.ts",
    source: 'import { x } from "#lib/time/clock.ts";',
    want: undefined,
  },
  {
    name: "a component must not reach around the API server",
    path: "controllers/a.ts",
    source: 'import { x } from "#store/contract.ts";',
    want: /controllers may not import store/,
  },
  {
    name: "a command may import every component",
    path: "cmd/a.ts",
    source: 'import { x } from "#store/contract.ts";',
    want: undefined,
  },
  {
    name: "but nothing of the tests",
    path: "cmd/a.ts",
    source: 'import { x } from "#testing/build.ts";',
    want: /cmd may not import testing/,
  },
  {
    name: "relative paths are no way around",
    path: "lib/a.ts",
    source: 'import { x } from "../api/kind.ts";',
    want: /lib may not import api/,
  },
  {
    name: "nor re-exports",
    path: "lib/a.ts",
    source: 'export { x } from "#api/kind.ts";',
    want: /lib may not import api/,
  },
  {
    name: "nor dynamic imports",
    path: "lib/a.ts",
    source: 'await import("#api/kind.ts");',
    want: /lib may not import api/,
  },
  {
    name: "rooms of the API server: the write path knows no verb",
    path: "apiserver/write/a.ts",
    source: 'import { x } from "../verbs/patch.ts";',
    want: /the room apiserver\/write may not import apiserver\/verbs/,
  },
  {
    name: "rooms of the API server: a verb uses the write path",
    path: "apiserver/verbs/a.ts",
    source: 'import { x } from "#apiserver/write/write-object.ts";',
    want: undefined,
  },
  {
    name: "pure folders have no IO",
    path: "api/a.ts",
    source: 'import "node:fs";',
    want: /imports node:fs/,
  },
  {
    name: "pure folders have no process",
    path: "api/a.ts",
    source: "process.exit();",
    want: /uses process/,
  },
  {
    name: "the time is handed in",
    path: "store/a.ts",
    source: "Date.now();",
    want: /uses Date.now/,
  },
  { name: "with new Date too", path: "store/a.ts", source: "new Date();", want: /new Date\(\)/ },
  {
    name: "a date from a number is fine",
    path: "store/a.ts",
    source: "new Date(5);",
    want: undefined,
  },
  {
    name: "timers are the clock's",
    path: "store/a.ts",
    source: "setTimeout(f, 5);",
    want: /calls setTimeout/,
  },
  {
    name: "node:timers is refused outside lib",
    path: "store/a.ts",
    source: 'import { setTimeout as later } from "node:timers";',
    want: /imports node:timers; take a Clock/,
  },
  {
    name: "node:timers/promises is refused outside lib, in dynamic imports too",
    path: "cmd/a.ts",
    source: 'await import("node:timers/promises");',
    want: /imports node:timers\/promises; take a Clock/,
  },
  {
    name: "timers without its node: prefix is refused outside lib",
    path: "testing/a.ts",
    source: 'export { setImmediate } from "timers";',
    want: /imports timers; take a Clock/,
  },
  {
    name: "lib may import node:timers/promises",
    path: "lib/a.ts",
    source: 'import { setImmediate as turn } from "node:timers/promises";',
    want: undefined,
  },
  {
    name: "chance is handed in",
    path: "store/a.ts",
    source: "Math.random();",
    want: /uses Math.random/,
  },
  {
    name: "a computed key with `in` finds inherited properties; Object.hasOwn does not",
    path: "store/a.ts",
    source: "if (key in object) f();",
    want: /uses `key in object`; take Object.hasOwn/,
  },
  {
    name: "`in` with a literal narrows a union",
    path: "store/a.ts",
    source: 'if ("fault" in read) f();',
    want: undefined,
  },
  {
    name: "but not with a name that every object inherits",
    path: "store/a.ts",
    source: 'if ("constructor" in read) f();',
    want: /take Object.hasOwn/,
  },
  { name: "every folder has a layer", path: "misc/a.ts", source: "", want: /no layer/ },
];

for (const { name, path, source, want } of cases) {
  test(`layers: ${name}`, () => {
    const problems = checkFile(path, source);
    if (want === undefined) assert.deepEqual(problems, []);
    else assert.match(problems.join("\n"), want);
  });
}
