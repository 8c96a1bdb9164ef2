/**
 * The contract suite: what every provider must do, as checks that any test runner can run. Checks of
 * parts that a provider does not have are left out.
 *
 *     for (const { name, run } of providerChecks({ create })) test(name, run);
 *
 * Each check makes a provider of its own. Checks of instances need a machine that exists and a name
 * that no machine has.
 */
import assert from "node:assert/strict";
import type { Node, Service } from "#api/generated/core.v1.ts";
import type { CloudProvider } from "./provider.ts";

export interface ContractOptions {
  create(): Promise<CloudProvider> | CloudProvider;
  /** Makes a machine of that name. Without it, instances are checked only for consistency. */
  addMachine?(provider: CloudProvider, name: string): Promise<void>;
}

export interface Check {
  readonly name: string;
  run(): Promise<void>;
}

const CLUSTER = "kubernetes";

export function providerChecks({ create, addMachine }: ContractOptions): readonly Check[] {
  const check = (name: string, body: (provider: CloudProvider) => Promise<void>): Check => ({
    name: `cloud provider contract: ${name}`,
    run: async () => {
      const provider = await create();
      try {
        await body(provider);
      } finally {
        await provider.close?.();
      }
    },
  });
  return [
    check("the name is fit for a provider ID", async ({ name }) => {
      assert.match(name, /^[a-z][a-z0-9-]*$/);
    }),
    check("load balancers: ensure makes one, twice is the same, get finds it", ensureTwice),
    check("load balancers: each Service has its own address", ownAddresses),
    check("load balancers: nodes are updated without another address", updateNodes),
    check("load balancers: remove is final, and twice is no error", removeTwice),
    check("load balancers: a call that is aborted ends", abortedCall),
    check("routes: what is created is listed, and gone when removed", routesComeAndGo),
    check("instances: a machine exists and has a provider ID", async (provider) => {
      const { instances } = provider;
      if (instances === undefined) return;
      await addMachine?.(provider, "contract-1");
      const one = node("contract-1");
      assert.equal(await instances.exists(one, signal()), true);
      assert.equal(await instances.isShutdown(one, signal()), false);
      const metadata = await instances.metadata(one, signal());
      if (metadata === undefined) return;
      assert.match(metadata.providerId ?? "", new RegExp(`^${provider.name}://`));
      const known: Node = { ...one, spec: { ...one.spec, providerID: metadata.providerId ?? "" } };
      assert.equal(await instances.exists(known, signal()), true, "found by provider ID");
    }),
    ...(addMachine === undefined
      ? []
      : [
          check("instances: a machine that was never there does not exist", async (provider) => {
            const gone = node("contract-none");
            assert.equal(await provider.instances?.exists(gone, signal()), false);
          }),
        ]),
  ];
}

async function ensureTwice({ loadBalancers }: CloudProvider): Promise<void> {
  if (loadBalancers === undefined) return;
  const one = service("one");
  assert.equal(await loadBalancers.get(CLUSTER, one, signal()), undefined);
  const first = await loadBalancers.ensure(CLUSTER, one, [node("a")], signal());
  assert.ok((first.ingress ?? []).length > 0, "an address or a host name");
  const second = await loadBalancers.ensure(CLUSTER, one, [node("a")], signal());
  assert.deepEqual(second, first);
  assert.deepEqual(await loadBalancers.get(CLUSTER, one, signal()), first);
  await loadBalancers.remove(CLUSTER, one, signal());
}

async function ownAddresses({ loadBalancers }: CloudProvider): Promise<void> {
  if (loadBalancers === undefined) return;
  const services = ["one", "two", "three"].map(service);
  const statuses = await Promise.all(
    services.map((one) => loadBalancers.ensure(CLUSTER, one, [], signal())),
  );
  const names = statuses.map(({ ingress = [] }) => ingress[0]?.ip ?? ingress[0]?.hostname);
  assert.equal(new Set(names).size, services.length);
  for (const one of services) await loadBalancers.remove(CLUSTER, one, signal());
}

async function updateNodes({ loadBalancers }: CloudProvider): Promise<void> {
  if (loadBalancers === undefined) return;
  const one = service("one");
  const first = await loadBalancers.ensure(CLUSTER, one, [node("a")], signal());
  await loadBalancers.update(CLUSTER, one, [node("a"), node("b")], signal());
  assert.deepEqual(await loadBalancers.get(CLUSTER, one, signal()), first);
  await loadBalancers.remove(CLUSTER, one, signal());
}

async function removeTwice({ loadBalancers }: CloudProvider): Promise<void> {
  if (loadBalancers === undefined) return;
  const one = service("one");
  await loadBalancers.ensure(CLUSTER, one, [], signal());
  await loadBalancers.remove(CLUSTER, one, signal());
  assert.equal(await loadBalancers.get(CLUSTER, one, signal()), undefined);
  await loadBalancers.remove(CLUSTER, one, signal());
}

/** Success or failure, but an end. */
async function abortedCall({ loadBalancers }: CloudProvider): Promise<void> {
  if (loadBalancers === undefined) return;
  const ended = loadBalancers.ensure(CLUSTER, service("one"), [], AbortSignal.abort());
  await ended.catch(() => undefined);
  await loadBalancers.remove(CLUSTER, service("one"), signal());
}

async function routesComeAndGo({ routes }: CloudProvider): Promise<void> {
  if (routes === undefined) return;
  const wanted = { name: "", targetNode: "a", destinationCidr: "10.244.7.0/24" };
  await routes.create(CLUSTER, "hint", wanted, signal());
  const find = async () =>
    (await routes.list(CLUSTER, signal())).find((r) => r.destinationCidr === "10.244.7.0/24");
  const made = await find();
  assert.equal(made?.targetNode, "a");
  await routes.remove(CLUSTER, made, signal());
  assert.equal(await find(), undefined);
}

function signal(): AbortSignal {
  return new AbortController().signal;
}

function service(name: string): Service {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace: "default", name, uid: `uid-${name}` },
    spec: {
      type: "LoadBalancer",
      clusterIP: "10.96.0.20",
      ipFamilies: ["IPv4"],
      ports: [{ name: "web", port: 80, protocol: "TCP", targetPort: 8080, nodePort: 30_080 }],
    },
    status: { loadBalancer: {} },
  };
}

function node(name: string): Node {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, uid: `uid-${name}` },
    spec: {},
    status: {
      addresses: [{ type: "InternalIP", address: "192.0.2.10" }],
      daemonEndpoints: { kubeletEndpoint: { Port: 10_250 } },
      nodeInfo: {
        machineID: "",
        systemUUID: `uuid-${name}`,
        bootID: "",
        kernelVersion: "",
        osImage: "",
        containerRuntimeVersion: "",
        kubeletVersion: "",
        kubeProxyVersion: "",
        operatingSystem: "linux",
        architecture: "amd64",
      },
    },
  };
}
