import assert from "node:assert/strict";
import { test } from "vitest";
import type { Endpoint } from "../../rules/endpoint.ts";
import { Balancer } from "./balancer.ts";

const ONE = { ip: "10.0.0.1", port: 80 } as Endpoint;
const TWO = { ip: "10.0.0.2", port: 80 } as Endpoint;

test("userspace: endpoints take turns", () => {
  const balancer = new Balancer();
  assert.equal(balancer.pick("c", 0), undefined);
  balancer.update([ONE, TWO], undefined);
  const picked = [1, 2, 3, 4].map(() => balancer.pick("c", 0)?.ip);
  assert.equal(picked.filter((ip) => ip === ONE.ip).length, 2);
});

test("userspace: sessionAffinity ClientIP keeps the endpoint until the timeout, a retry or its end", () => {
  const balancer = new Balancer();
  balancer.update([ONE, TWO], 10);
  const first = balancer.pick("c", 0);
  assert.equal(balancer.pick("c", 9_999), first);
  assert.equal(balancer.pick("c", 19_998), first); // the timeout counts from the last use
  assert.notEqual(balancer.pick("c", 19_999, true), first);
  const other = first === ONE ? TWO : ONE;
  balancer.update([first!], 10);
  assert.equal(balancer.has(other), false);
  assert.equal(balancer.pick("c", 20_000), first);
});
