import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { ResourceQuota } from "#api/generated/core.v1.ts";
import type { Kind } from "#api/kind.ts";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { resourceQuotaKind } from "#api/kinds/core/v1/resources/resource-quota.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { admitWith, type Loose, looseObject } from "#testing/admission.ts";
import { MemoryObjects } from "#testing/memory-objects.ts";
import { resourceQuota } from "./resource-quota.ts";

type Amounts = Record<string, string>;

function quota(name: string, hard: Amounts, used: Amounts, spec: Loose = {}): ResourceQuota {
  return {
    metadata: { name, namespace: "ns" },
    spec: { hard, ...spec },
    status: { hard, used },
  };
}

function world(...quotas: ResourceQuota[]): MemoryObjects {
  const objects = new MemoryObjects();
  for (const one of quotas) objects.put(resourceQuotaKind, one);
  return objects;
}

const usedOf = (objects: MemoryObjects, name = "q"): Amounts | undefined =>
  objects.get(resourceQuotaKind, "ns", name)?.status.used as Amounts | undefined;

const object = (fields: Loose = {}, meta: Loose = {}): never => looseObject("x", fields, meta);
const pod = (resources: Loose, spec: Loose = {}): never =>
  object({ spec: { containers: [{ name: "c", resources }], ...spec }, status: {} });

describe("the quota charge of a write", () => {
  const cases: { name: string; kind: Kind; object: never; hard: Amounts; charged: Amounts }[] = [
    {
      name: "an object counts as one, under both names",
      kind: configMapKind,
      object: object(),
      hard: { configmaps: "5", "count/configmaps": "5", "count/secrets": "5" },
      charged: { configmaps: "1", "count/configmaps": "1", "count/secrets": "0" },
    },
    {
      name: "a pod costs what its containers request and are limited to",
      kind: podKind,
      object: pod({ requests: { cpu: "250m", "example.com/gpu": "2" }, limits: { memory: "1Gi" } }),
      hard: {
        pods: "5",
        "requests.cpu": "2",
        "limits.memory": "2Gi",
        "requests.example.com/gpu": "4",
      },
      charged: {
        pods: "1",
        "requests.cpu": "250m",
        "limits.memory": "1Gi",
        "requests.example.com/gpu": "2",
      },
    },
    {
      name: "a claim costs storage, also by class",
      kind: persistentVolumeClaimKind,
      object: object({
        spec: { storageClassName: "gold", resources: { requests: { storage: "3Gi" } } },
        status: {},
      }),
      hard: {
        "requests.storage": "10Gi",
        "gold.storageclass.storage.k8s.io/requests.storage": "5Gi",
      },
      charged: {
        "requests.storage": "3Gi",
        "gold.storageclass.storage.k8s.io/requests.storage": "3Gi",
      },
    },
    {
      name: "a load balancer costs its node ports too",
      kind: serviceKind,
      object: object({ spec: { type: "LoadBalancer", ports: [{ port: 1 }, { port: 2 }] } }),
      hard: { services: "5", "services.loadbalancers": "1", "services.nodeports": "3" },
      charged: { services: "1", "services.loadbalancers": "1", "services.nodeports": "2" },
    },
  ];
  for (const { name, kind, object: made, hard, charged } of cases) {
    test(name, async () => {
      const zero = Object.fromEntries(Object.keys(hard).map((resource) => [resource, "0"]));
      const objects = world(quota("q", hard, zero));
      const { status } = await admitWith(resourceQuota(), kind, made, { objects });
      assert.equal(status, undefined);
      assert.deepEqual(usedOf(objects), charged);
    });
  }

  test("an update is charged the difference", async () => {
    const service = (type: string): never => object({ spec: { type, ports: [{ port: 1 }] } });
    const objects = world(
      quota(
        "q",
        { services: "1", "services.nodeports": "1" },
        { services: "1", "services.nodeports": "0" },
      ),
    );
    const { status } = await admitWith(resourceQuota(), serviceKind, service("NodePort"), {
      objects,
      old: service("ClusterIP"),
    });
    assert.equal(status, undefined);
    assert.deepEqual(usedOf(objects), { services: "1", "services.nodeports": "1" });
  });

  test("a dry run is not charged", async () => {
    const objects = world(quota("q", { configmaps: "5" }, { configmaps: "0" }));
    await admitWith(resourceQuota(), configMapKind, object(), { objects, dryRun: true });
    assert.deepEqual(usedOf(objects), { configmaps: "0" });
  });
});

describe("ResourceQuota: what is refused", () => {
  const cases: {
    name: string;
    quota: ResourceQuota;
    kind?: Kind;
    object?: never;
    message: string;
  }[] = [
    {
      name: "more than is left",
      quota: quota("q", { configmaps: "1" }, { configmaps: "1" }),
      message:
        'configmaps "x" is forbidden: exceeded quota: q, requested: configmaps=1, used: ' +
        "configmaps=1, limited: configmaps=1",
    },
    {
      name: "containers that do not say what they need",
      quota: quota(
        "q",
        { "requests.cpu": "1", memory: "1Gi" },
        { "requests.cpu": "0", memory: "0" },
      ),
      kind: podKind,
      object: pod({}),
      message:
        'pods "x" is forbidden: failed quota: q: must specify memory for: c; requests.cpu for: c',
    },
    {
      name: "anything as long as usage is not known",
      quota: quota("q", { configmaps: "1", "count/configmaps": "1" }, {}),
      message:
        'configmaps "x" is forbidden: status unknown for quota: q, resources: ' +
        "configmaps,count/configmaps",
    },
  ];
  for (const {
    name,
    quota: one,
    kind = configMapKind,
    object: made = object(),
    message,
  } of cases) {
    test(name, async () => {
      const objects = world(one);
      const { status } = await admitWith(resourceQuota(), kind, made, { objects });
      assert.equal(status?.message, message);
      assert.deepEqual(usedOf(objects), one.status.used);
    });
  }

  test("what one quota refuses is not charged to another", async () => {
    const objects = world(
      quota("a", { configmaps: "5" }, { configmaps: "0" }),
      quota("b", { configmaps: "1" }, { configmaps: "1" }),
    );
    const { status } = await admitWith(resourceQuota(), configMapKind, object(), { objects });
    assert.match(status?.message ?? "", /exceeded quota: b/);
    assert.deepEqual(usedOf(objects, "a"), { configmaps: "0" });
  });
});

describe("ResourceQuota: scopes", () => {
  const scoped = (scope: Loose) => quota("q", { pods: "5" }, { pods: "0" }, scope);
  const cases: { name: string; scope: Loose; pod: never; charged: string }[] = [
    {
      name: "scope BestEffort counts a pod without requests",
      scope: { scopes: ["BestEffort"] },
      pod: pod({}),
      charged: "1",
    },
    {
      name: "scope NotBestEffort does not count a pod without requests",
      scope: { scopes: ["NotBestEffort"] },
      pod: pod({}),
      charged: "0",
    },
    {
      name: "scope Terminating counts a pod with activeDeadlineSeconds",
      scope: { scopes: ["Terminating"] },
      pod: pod({}, { activeDeadlineSeconds: 5 }),
      charged: "1",
    },
    {
      name: "scopeSelector PriorityClass In counts a pod of that class",
      scope: {
        scopeSelector: {
          matchExpressions: [{ scopeName: "PriorityClass", operator: "In", values: ["high"] }],
        },
      },
      pod: pod({}, { priorityClassName: "high" }),
      charged: "1",
    },
    {
      name: "scopeSelector PriorityClass NotIn does not count a pod of that class",
      scope: {
        scopeSelector: {
          matchExpressions: [{ scopeName: "PriorityClass", operator: "NotIn", values: ["high"] }],
        },
      },
      pod: pod({}, { priorityClassName: "high" }),
      charged: "0",
    },
  ];
  for (const { name, scope, pod: made, charged } of cases) {
    test(name, async () => {
      const objects = world(scoped(scope));
      await admitWith(resourceQuota(), podKind, made, { objects });
      assert.deepEqual(usedOf(objects), { pods: charged });
    });
  }
});

test("concurrent creates never exceed the ResourceQuota, and its status is written in batches", async () => {
  const objects = world(quota("q", { configmaps: "30" }, { configmaps: "10" }));
  let writes = 0;
  objects.onChange(resourceQuotaKind, () => void writes++, new AbortController().signal);
  const plugin = resourceQuota();
  const results = await Promise.all(
    Array.from({ length: 64 }, () => admitWith(plugin, configMapKind, object(), { objects })),
  );
  assert.equal(results.filter(({ status }) => status === undefined).length, 20);
  assert.deepEqual(usedOf(objects), { configmaps: "30" });
  assert.ok(writes <= 3, `${writes} writes`);
});

describe("what only a quota allows", () => {
  const config = (...limitedResources: Loose[]): Loose => ({
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "ResourceQuotaConfiguration",
    limitedResources,
  });
  const ask = async (limit: Loose, given: never, ...quotas: ResourceQuota[]) => {
    const options = { objects: world(...quotas), namespace: "ns" };
    const { status } = await admitWith(resourceQuota(config(limit)), podKind, given, options);
    return status?.message;
  };
  const cpu = { resource: "pods", matchContains: ["cpu"] };
  const critical = { scopeName: "PriorityClass", operator: "In", values: ["critical"] };
  const scoped = { resource: "pods", matchScopes: [critical] };
  const one = { requests: { cpu: "1" } };

  test("amounts by parts of their names", async () => {
    const quotas = [
      quota("q", { "requests.cpu": "4" }, { "requests.cpu": "0" }),
      quota("r", { cpu: "4" }, { cpu: "0" }),
    ];
    const refused = 'pods "x" is forbidden: insufficient quota to consume: cpu,requests.cpu';
    assert.equal(await ask(cpu, pod(one)), refused);
    assert.equal(await ask(cpu, pod({})), undefined);
    assert.equal(await ask({ ...cpu, resource: "services" }, pod(one)), undefined);
    assert.equal(await ask(cpu, pod(one), ...quotas), undefined);
  });

  test("pods by their scopes", async () => {
    const given = pod({}, { priorityClassName: "critical" });
    const refused = "insufficient quota to match these scopes: [{PriorityClass In [critical]}]";
    const covering = quota(
      "q",
      { pods: "4" },
      { pods: "0" },
      {
        scopeSelector: { matchExpressions: [critical] },
      },
    );
    assert.equal(await ask(scoped, given), refused);
    assert.equal(await ask(scoped, pod({})), undefined);
    assert.equal(await ask(scoped, given, quota("q", { pods: "4" }, { pods: "0" })), refused);
    assert.equal(await ask(scoped, given, covering), undefined);
  });

  test("a limit without a resource stops the start", () => {
    assert.throws(
      () => resourceQuota(config({})),
      /limitedResources\[0\]\.resource: Required value/,
    );
  });
});
