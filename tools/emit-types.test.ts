import assert from "node:assert/strict";
import { test } from "vitest";
import { withPlainImports } from "./emit-types.ts";

test("withPlainImports: a file with the name of its importer's folder is found", () => {
  const text = 'import type { Use } from "#api/expressions.ts";';
  assert.equal(
    withPlainImports("api/expressions/authentication.d.ts", text),
    'import type { Use } from "../expressions.js";',
  );
});

test("withPlainImports: imports of our own become relative ones, others stay", () => {
  const text = [
    'import type { Clock } from "#lib/time/clock.ts";',
    'import type { Key } from "./controller.ts";',
    'export declare const a: import("#client/client.ts").Typed<string>;',
    'import type { Server } from "node:http";',
    'export declare const b = "#lib/time/clock.ts";',
  ].join("\n");
  assert.deepEqual(withPlainImports("runtime/run.d.ts", text).split("\n"), [
    'import type { Clock } from "../lib/time/clock.js";',
    'import type { Key } from "./controller.js";',
    'export declare const a: import("../client/client.js").Typed<string>;',
    'import type { Server } from "node:http";',
    'export declare const b = "#lib/time/clock.ts";',
  ]);
});
