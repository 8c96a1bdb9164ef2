import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Service } from "#api/generated/core.v1.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { build, type Draft } from "#testing/build.ts";
import { type AddressHolder, createLocalProvider } from "./local-provider.ts";

const { signal } = new AbortController();

function world(services: readonly Service[] = [], left: readonly string[] = []) {
  const machine = new Set(left);
  const addresses: AddressHolder = {
    list: async () => [...machine],
    place: async (address) => void machine.add(address),
    remove: async (address) => void machine.delete(address),
  };
  const ranges = ["10.245.0.0/30", "fd00::/126"];
  const provider = createLocalProvider({ ranges, addresses, services: async () => services });
  const { loadBalancers } = provider;
  const ensure = async (service: Service): Promise<readonly (string | undefined)[]> =>
    (await loadBalancers!.ensure("c", service, [], signal)).ingress!.map(({ ip }) => ip);
  return { machine, ensure, loadBalancers: loadBalancers!, provider };
}

const service = (name: string, draft: Draft<Service> = {}): Service =>
  build(serviceKind, {
    ...draft,
    metadata: { name },
    spec: { type: "LoadBalancer", ports: [{ port: 80 }], ipFamilies: ["IPv4"], ...draft.spec },
  });

const having = (name: string, ip: string): Service =>
  service(name, { status: { loadBalancer: { ingress: [{ ip }] } } });

describe("local cloud provider (LoadBalancer addresses)", () => {
  test("each Service has an address that the machine has until it is removed", async () => {
    const { machine, ensure, loadBalancers } = world();
    assert.deepEqual(await ensure(service("a")), ["10.245.0.1"]);
    assert.deepEqual(await ensure(service("b")), ["10.245.0.2"]);
    assert.deepEqual([...machine], ["10.245.0.1", "10.245.0.2"]);
    await assert.rejects(ensure(service("c")), /all IPv4 addresses of load balancers are in use/);
    await loadBalancers.remove("c", service("a"), signal);
    assert.deepEqual(await ensure(service("c")), ["10.245.0.1"]);
  });

  test("after a restart Services keep their addresses and left ones go", async () => {
    const { machine, ensure } = world([having("old", "10.245.0.1")], ["127.0.0.1", "10.245.0.2"]);
    assert.deepEqual(await ensure(service("new")), ["10.245.0.2"]);
    assert.deepEqual(await ensure(having("old", "10.245.0.1")), ["10.245.0.1"]);
    assert.deepEqual([...machine].sort(), ["10.245.0.1", "10.245.0.2", "127.0.0.1"]);
  });

  test("spec.loadBalancerIP is given, and refused outside the range or where it is another's", async () => {
    const { machine, ensure } = world();
    await ensure(service("a"));
    assert.deepEqual(await ensure(service("b", { spec: { loadBalancerIP: "10.245.0.2" } })), [
      "10.245.0.2",
    ]);
    const elsewhere = service("c", { spec: { loadBalancerIP: "192.0.2.1" } });
    await assert.rejects(ensure(elsewhere), /is not in the range of load balancers/);
    const taken = service("d", { spec: { loadBalancerIP: "10.245.0.2" } });
    await assert.rejects(ensure(taken), /belongs to another Service/);
    assert.deepEqual([...machine], ["10.245.0.1", "10.245.0.2"]);
  });

  test("a dual-stack Service has an address of each family", async () => {
    const { ensure } = world();
    const both = service("a", { spec: { ipFamilies: ["IPv4", "IPv6"] } });
    assert.deepEqual(await ensure(both), ["10.245.0.1", "fd00::1"]);
  });

  test("close takes all addresses of the range off the machine, and no others", async () => {
    const { machine, ensure, provider } = world([], ["127.0.0.1"]);
    await ensure(service("a"));
    await provider.close?.();
    assert.deepEqual([...machine], ["127.0.0.1"]);
  });
});
