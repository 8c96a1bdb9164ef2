import assert from "node:assert/strict";
import { test } from "vitest";
import { endpointsKind } from "#api/kinds/core/v1/endpoints.ts";
import { endpointSliceKind } from "#api/kinds/discovery/v1/endpoint-slice.ts";
import { startTestApi, type TestApi } from "../api.testing.ts";
import { Announcement, type KubernetesServiceOptions } from "./kubernetes-service.ts";
import { createLoopback } from "./loopback.ts";

test("endpoints of the kubernetes Service: a server that ends removes its address before it closes", async () => {
  await using t = await startTestApi();
  const life = new AbortController();
  const first = new Announcement();
  const second = new Announcement();
  const running = [
    first.run(optionsOf(t, "10.0.0.1", life.signal), life.signal),
    second.run(optionsOf(t, "10.0.0.2", life.signal), life.signal),
  ];
  await t.clock.advance(10_000);
  assert.deepEqual(announced(t), ["10.0.0.1", "10.0.0.2"]);
  await first.withdraw();
  assert.deepEqual(announced(t), ["10.0.0.2"]);
  await t.clock.advance(20_000);
  assert.deepEqual(announced(t), ["10.0.0.2"]);
  life.abort();
  await Promise.all(running);
});

test("endpoints of the kubernetes Service: withdrawing gives up when the store does not answer", async () => {
  await using t = await startTestApi();
  const life = new AbortController();
  const options = optionsOf(t, "10.0.0.1", life.signal);
  const stuck = { ...options, store: { ...options.store, ...HANGING } };
  const announcement = new Announcement();
  void announcement.run(stuck, life.signal);
  const withdrawn = announcement.withdraw();
  await t.clock.advance(2_000);
  await withdrawn;
  life.abort();
});

const HANGING = { put: () => new Promise<never>(() => undefined) };

function optionsOf(
  t: TestApi,
  advertiseAddress: string,
  signal: AbortSignal,
): KubernetesServiceOptions {
  return {
    ...{ store: t.store, shared: true, clock: t.clock, advertiseAddress, port: 6443 },
    loopback: createLoopback(t.api.handle, signal),
    serviceRanges: ["10.96.0.0/12"],
  };
}

/** The addresses in the Endpoints, which the EndpointSlice has too. */
function announced(t: TestApi): readonly string[] {
  const [endpoints] = [...t.api.objects.list(endpointsKind, "default")];
  const [slice] = [...t.api.objects.list(endpointSliceKind, "default")];
  const addresses = (endpoints?.subsets ?? []).flatMap((subset) =>
    (subset.addresses ?? []).map(({ ip }) => ip),
  );
  const sliced = (slice?.endpoints ?? []).flatMap((one) => one.addresses);
  assert.deepEqual(sliced, addresses);
  return addresses;
}
