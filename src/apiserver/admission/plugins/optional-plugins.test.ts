import assert from "node:assert/strict";
import { test } from "vitest";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { admitWith, type Loose, looseObject, specOf as spec } from "#testing/admission.ts";
import { MemoryObjects } from "#testing/memory-objects.ts";
import { nodeDeclaredFeatureValidator } from "./node/node-declared-features.ts";
import {
  alwaysDeny,
  alwaysPullImages,
  denyServiceExternalIps,
  extendedResourceToleration,
  limitPodHardAntiAffinityTopology,
  namespaceAutoProvision,
  namespaceExists,
} from "./optional-plugins.ts";

const pod = (spec: Loose, meta: Loose = {}): never => looseObject("p", { spec }, meta);

test("AlwaysPullImages changes every container and image volume", async () => {
  const result = await admitWith(
    alwaysPullImages,
    podKind,
    pod({
      containers: [{ name: "c", imagePullPolicy: "Never" }],
      initContainers: [{ name: "i" }],
      volumes: [{ name: "v", image: { reference: "r" } }],
    }),
  );
  const { containers, initContainers, volumes } = spec(result);
  assert.deepEqual(
    [containers![0]!.imagePullPolicy, initContainers![0]!.imagePullPolicy],
    ["Always", "Always"],
  );
  assert.equal(volumes![0]!.image!.pullPolicy, "Always");
});

test("AlwaysDeny denies", async () => {
  const { status } = await admitWith(alwaysDeny, podKind, pod({}));
  assert.equal(
    status?.message,
    'pods "p" is forbidden: admission control is denying all modifications',
  );
});

test("NamespaceExists refuses a missing namespace; NamespaceAutoProvision creates it", async () => {
  const objects = new MemoryObjects();
  const missing = await admitWith(namespaceExists, podKind, pod({}), { objects });
  assert.equal(missing.status?.message, 'namespaces "ns" not found');
  await admitWith(namespaceAutoProvision, podKind, pod({}), { objects, dryRun: true });
  assert.equal(objects.get(namespaceKind, "", "ns"), undefined);
  await admitWith(namespaceAutoProvision, podKind, pod({}), { objects });
  assert.equal(objects.get(namespaceKind, "", "ns")?.status.phase, "Active");
  const there = await admitWith(namespaceExists, podKind, pod({}), { objects });
  assert.equal(there.status, undefined);
});

test("DenyServiceExternalIPs lets old addresses be", async () => {
  const service = (...externalIPs: string[]): never => pod({ externalIPs });
  const message = async (next: never, old?: never) =>
    (await admitWith(denyServiceExternalIps, serviceKind, next, old ? { old } : {})).status
      ?.message;
  assert.match((await message(service("192.0.2.1"))) ?? "", /Use of external IPs is denied/);
  assert.equal(await message(service("192.0.2.1"), service("192.0.2.1")), undefined);
});

test("ExtendedResourceToleration adds tolerations for requested extended resources", async () => {
  const resources = { requests: { "example.com/gpu": "1", cpu: "1" } };
  const asking = pod({ containers: [{ name: "c", resources }] });
  const result = await admitWith(extendedResourceToleration, podKind, asking);
  const toleration = { key: "example.com/gpu", operator: "Exists", effect: "NoSchedule" };
  assert.deepEqual(spec(result).tolerations, [toleration]);
});

test("LimitPodHardAntiAffinityTopology knows hosts only", async () => {
  const apart = (topologyKey: string): never =>
    pod({
      affinity: {
        podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey }] },
      },
    });
  const message = async (key: string) =>
    (await admitWith(limitPodHardAntiAffinityTopology, podKind, apart(key))).status?.message;
  assert.equal(await message("kubernetes.io/hostname"), undefined);
  assert.match((await message("zone")) ?? "", /has TopologyKey zone but only key/);
});

test("a node must know how to resize a pod as a whole", async () => {
  const sized = (cpu: string, generation: number): never =>
    pod({ nodeName: "n", resources: { limits: { cpu } } }, { generation });
  const resize = async (declaredFeatures: string[]) => {
    const objects = new MemoryObjects();
    objects.put(nodeKind, {
      metadata: { name: "n" },
      spec: {},
      status: { declaredFeatures },
    } as never);
    const { status } = await admitWith(nodeDeclaredFeatureValidator, podKind, sized("2", 2), {
      objects,
      old: sized("1", 1),
      subresource: "resize",
    });
    return status?.message;
  };
  assert.equal(await resize(["InPlacePodLevelResourcesVerticalScaling"]), undefined);
  assert.equal(
    await resize([]),
    'pods "p" is forbidden: pod update requires features InPlacePodLevelResourcesVerticalScaling ' +
      'which are not available on node "n"',
  );
});

test("DenyServiceExternalIPs looks at Services only", async () => {
  const node = { metadata: { name: "n" } } as never;
  const { status } = await admitWith(denyServiceExternalIps, nodeKind, node, { old: node });
  assert.equal(status, undefined);
});
