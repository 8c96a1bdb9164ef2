import assert from "node:assert/strict";
import { test } from "vitest";
import { leaseKind } from "#api/kinds/coordination/v1/lease.ts";
import { seededRandom } from "#lib/random.ts";
import { startTestApi, type TestApi } from "../api.testing.ts";
import { runIdentityLease } from "./identity-lease.ts";
import { createLoopback } from "./loopback.ts";

const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
const HOUR_MS = 3_600_000;

function run(t: TestApi, peerAddress: string, signal: AbortSignal): Promise<void> {
  const loopback = createLoopback(t.api.handle, signal);
  const random = seededRandom(1);
  const { clock } = t;
  const { objects } = t.api;
  return runIdentityLease(
    { loopback, objects, clock, random, hostname: "host", peerAddress },
    signal,
  );
}

test("the server's lease is renewed while it runs, and goes when others see that it has expired", async () => {
  await using t = await startTestApi();
  const life = new AbortController();
  const running = run(t, "10.0.0.1:6443", life.signal);
  await t.clock.advance(0);
  const leases = () => [...t.api.objects.list(leaseKind, "kube-system")];
  const [first] = leases();
  assert.match(first!.metadata.name ?? "", /^apiserver-[a-z2-7]{26}$/);
  assert.deepEqual(first!.metadata.labels, {
    "apiserver.kubernetes.io/identity": "kube-apiserver",
    "kubernetes.io/hostname": "host",
  });
  assert.equal(first!.spec?.leaseDurationSeconds, 3600);
  assert.equal(first!.spec?.renewTime, "2030-01-01T00:00:00.000000Z");

  await t.clock.advance(2 * HOUR_MS);
  const [renewed] = leases();
  assert.equal(renewed!.metadata.uid, first!.metadata.uid);
  assert.equal(renewed!.spec?.renewTime, "2030-01-01T02:00:00.000000Z");
  life.abort();
  await running;

  const unrelated = { metadata: { name: "other" }, spec: { leaseDurationSeconds: 1 } };
  await t.want(201, "POST", LEASES, { body: unrelated });
  const other = new AbortController();
  const successor = run(t, "10.0.0.2:6443", other.signal);
  await t.clock.advance(HOUR_MS / 2);
  assert.equal(leases().length, 3); // not expired yet
  await t.clock.advance(HOUR_MS);
  const left = leases().map(({ metadata }) => metadata.name);
  assert.equal(left.length, 2);
  assert.ok(!left.includes(first!.metadata.name) && left.includes("other"));
  other.abort();
  await successor;
});
