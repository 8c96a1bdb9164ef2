import assert from "node:assert/strict";
import { test } from "vitest";
import { orderOf, orderText } from "./order-query.ts";

test("orderText and orderOf: an order of a list comes back from its address", () => {
  for (const text of ["", "0", "-12", "created", "-created"])
    assert.equal(orderText(orderOf(text)), text);
  assert.deepEqual(orderOf("-3"), { by: 3, descending: true });
});

test("orderOf: what is no order of a list is ignored", () => {
  for (const text of ["x", "--1", "1.5", "-", "99999"]) assert.equal(orderOf(text), undefined);
});
