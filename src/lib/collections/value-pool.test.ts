import assert from "node:assert/strict";
import { test } from "vitest";
import { createValuePool } from "./value-pool.ts";

test("value pool: equal values are the same object, up to the limit of different values", () => {
  const pool = createValuePool<{ readonly port: number }>(1);
  const first = pool({ port: 80 });
  assert.equal(pool({ port: 80 }), first);
  const beyond = pool({ port: 81 });
  assert.notEqual(pool({ port: 81 }), beyond);
  assert.equal(pool({ port: 80 }), first);
});
