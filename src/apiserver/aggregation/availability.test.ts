import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { APIService } from "#api/generated/apiregistration.v1.ts";
import type { ServiceSpec } from "#api/generated/core.v1.ts";
import { apiServiceKind } from "#api/kinds/apiregistration/v1/api-service.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { endpointSliceKind } from "#api/kinds/discovery/v1/endpoint-slice.ts";
import { silentLogger } from "#lib/logger.ts";
import { seededRandom } from "#lib/random.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { completed, type Draft } from "#testing/build.ts";
import { MemoryObjects } from "#testing/memory-objects.ts";
import { type HttpsAnswer, HttpsCaller } from "../webhook/https-caller.ts";
import { ServiceResolver } from "../webhook/service-resolver.ts";
import { AvailabilityChecks } from "./availability.ts";
import { type Backend, whyUnavailable } from "./decide-availability.ts";
import { RemoteApis } from "./remote-apis.ts";

const service = (more: Draft<ServiceSpec> = {}) =>
  completed(serviceKind, {
    metadata: { name: "s", namespace: "n" },
    spec: { type: "ClusterIP", ports: [{ port: 443, name: "https" }], ...more },
  });
const slice = (ready: boolean, portName: string) =>
  completed(endpointSliceKind, {
    endpoints: [{ addresses: ["10.0.0.1"], conditions: { ready } }],
    ports: [{ name: portName, port: 8443 }],
  });

describe("APIService conditions when the service is not available", () => {
  const rows: { name: string; backend: Backend; reason: string; message: RegExp }[] = [
    {
      name: "a missing Service is ServiceNotFound",
      backend: { service: undefined, slices: [] },
      reason: "ServiceNotFound",
      message: /^service\/s in "n" is not present$/,
    },
    {
      name: "a Service without the port is ServicePortError",
      backend: { service: service({ ports: [{ port: 80 }] }), slices: [] },
      reason: "ServicePortError",
      message: /^service\/s in "n" is not listening on port 443$/,
    },
    {
      name: "a Service without EndpointSlices is EndpointsNotFound",
      backend: { service: service(), slices: [] },
      reason: "EndpointsNotFound",
      message: /^cannot find endpointslices for service\/s in "n"$/,
    },
    {
      name: "a Service without a ready endpoint is MissingEndpoints",
      backend: { service: service(), slices: [slice(false, "https"), slice(true, "other")] },
      reason: "MissingEndpoints",
      message: /^endpointslices for service\/s in "n" have no addresses with port name "https"$/,
    },
  ];
  test.each(rows)("$name", ({ backend, reason, message }) => {
    const decided = whyUnavailable({ name: "s", namespace: "n", port: 443 }, backend);
    assert.deepEqual([decided?.status, decided?.reason], ["False", reason]);
    assert.match(decided?.message ?? "", message);
  });

  test("a ready endpoint with the port, and an ExternalName service, are available", () => {
    const reference = { name: "s", namespace: "n", port: 443 };
    const ready = { service: service(), slices: [slice(true, "https")] };
    assert.equal(whyUnavailable(reference, ready), undefined);
    const external = { service: service({ type: "ExternalName", ports: [] }), slices: [] };
    assert.equal(whyUnavailable(reference, external), undefined);
  });
});

test("APIService: the condition Available follows Services and EndpointSlices", async () => {
  const clock = new VirtualClock("2030-01-01T00:00:00Z");
  using caller = new HttpsCaller(clock);
  const { objects, life } = startChecks(clock, caller);
  const spec = { group: "g", version: "v1", groupPriorityMinimum: 1, versionPriority: 1 };
  const put = (name: string, more: Draft<APIService["spec"]>): void =>
    void objects.put(
      apiServiceKind,
      completed(apiServiceKind, { metadata: { name }, spec: { ...spec, ...more } }),
    );
  const conditionOf = async (name: string): Promise<string[]> => {
    await clock.advance(0);
    const [condition] = objects.get(apiServiceKind, "", name)?.status?.conditions ?? [];
    return [condition?.type ?? "", condition?.status ?? "", condition?.reason ?? ""];
  };
  put("v1.local", {});
  put("v1.remote", { service: { name: "s", namespace: "n", port: 443 } });
  assert.deepEqual(await conditionOf("v1.local"), ["Available", "True", "Local"]);
  assert.deepEqual(await conditionOf("v1.remote"), ["Available", "False", "ServiceNotFound"]);
  objects.put(serviceKind, service());
  assert.deepEqual(await conditionOf("v1.remote"), ["Available", "False", "EndpointsNotFound"]);
  life.abort();
});

describe("APIService: how many discovery checks are made at once", () => {
  type Answer = Promise<HttpsAnswer>;
  const passed: HttpsAnswer = { code: 200, headers: {}, body: Buffer.alloc(0) };
  const rows: { name: string; first: () => Answer; calls: number }[] = [
    {
      name: "one when it passes",
      first: () => Promise.resolve(passed),
      calls: 1,
    },
    {
      name: "five when the first fails, and one success makes it Available",
      first: () => Promise.reject(new Error("connection refused")),
      calls: 5,
    },
    {
      name: "five when the first is late, and one success makes it Available",
      first: () => new Promise(() => undefined),
      calls: 5,
    },
  ];
  test.each(rows)("$name", async ({ first, calls }) => {
    const clock = new VirtualClock("2030-01-01T00:00:00Z");
    let made = 0;
    const caller = { call: (): Answer => (++made === 1 ? first() : Promise.resolve(passed)) };
    const { objects, life } = startChecks(clock, caller);
    objects.put(serviceKind, service());
    objects.put(endpointSliceKind, {
      ...slice(true, "https"),
      metadata: { name: "s-1", namespace: "n", labels: { "kubernetes.io/service-name": "s" } },
    });
    const metadata = { name: "v1.remote" };
    const reference = { name: "s", namespace: "n", port: 443 };
    const spec = { group: "g", version: "v1", groupPriorityMinimum: 1, versionPriority: 1 };
    const remote = { metadata, spec: { ...spec, service: reference, insecureSkipTLSVerify: true } };
    objects.put(apiServiceKind, completed(apiServiceKind, remote));
    await clock.advance(1_000);
    assert.equal(made, calls);
    const [condition] = objects.get(apiServiceKind, "", "v1.remote")?.status?.conditions ?? [];
    assert.deepEqual([condition?.type, condition?.status], ["Available", "True"]);
    life.abort();
  });
});

function startChecks(clock: VirtualClock, caller: Pick<HttpsCaller, "call">) {
  const objects = new MemoryObjects();
  const random = seededRandom(1);
  const life = new AbortController();
  const services = new ServiceResolver(objects, random, life.signal);
  const apis = new RemoteApis(services, () => undefined);
  const around = { objects, apis, services, caller, clock, random, logger: silentLogger };
  apis.start(objects, life.signal);
  new AvailabilityChecks(around).start(life.signal);
  return { objects, life };
}
