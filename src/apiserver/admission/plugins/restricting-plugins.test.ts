import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Pod } from "#api/generated/core.v1.ts";
import { builtInKinds } from "#api/kinds/built-in-kinds.ts";
import { eventKind } from "#api/kinds/core/v1/event/event.ts";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { admitWith, type Loose, looseObject } from "#testing/admission.ts";
import { MemoryObjects } from "#testing/memory-objects.ts";
import type { Authorizer } from "../../authz/authorizer.ts";
import { eventRateLimit } from "./event-rate-limit.ts";
import { ownerReferencesPermissionEnforcement } from "./owner-references.ts";
import { podNodeSelector } from "./pod-node-selector.ts";
import { podTolerationRestriction } from "./pod-toleration-restriction.ts";

const pod = (spec: Loose, meta: Loose = {}): never => looseObject("p", { spec }, meta);
const withNamespace = (annotations: Record<string, string>): { objects: MemoryObjects } => {
  const objects = new MemoryObjects();
  objects.put(namespaceKind, { metadata: { name: "ns", annotations } } as never);
  return { objects };
};

test("EventRateLimit: a burst, then so many a second, for each key", async () => {
  const clock = new VirtualClock(0);
  const limits = [{ type: "Namespace", qps: 1, burst: 2 }];
  const group = "eventratelimit.admission.k8s.io";
  const config = { apiVersion: `${group}/v1alpha1`, kind: "Configuration", limits };
  const plugin = eventRateLimit(config, clock);
  const send = async (namespace: string, more: object = {}): Promise<string> => {
    const event = { metadata: { name: "e", namespace } } as never;
    const { status } = await admitWith(plugin, eventKind, event, more);
    return status === undefined ? "ok" : `${status.code} ${status.message}`;
  };
  const refused = "429 Too many requests: limit reached on type Namespace for key a";
  assert.deepEqual([await send("a"), await send("a"), await send("a")], ["ok", "ok", refused]);
  assert.equal(await send("a", { dryRun: true }), "ok");
  assert.equal(await send("b"), "ok");
  await clock.advance(1000);
  assert.deepEqual([await send("a"), await send("a")], ["ok", refused]);
});

describe("PodNodeSelector", () => {
  const annotated = { "scheduler.alpha.kubernetes.io/node-selector": "zone=a" };
  const rows = [
    { name: "the namespace's", annotations: annotated, given: {}, want: { zone: "a" } },
    {
      name: "besides the pod's own",
      annotations: annotated,
      given: { disk: "ssd" },
      want: { zone: "a", disk: "ssd" },
    },
    {
      name: "a nodeSelector that conflicts with that of the namespace is refused",
      annotations: annotated,
      given: { zone: "b" },
      want: 'pods "p" is forbidden: pod node label selector conflicts with its namespace node label selector',
    },
    {
      name: "the default nodeSelector of the cluster is added without one of the namespace",
      annotations: {},
      given: {},
      want: { any: "1" },
    },
    {
      name: "only what is allowed",
      annotations: {},
      given: { other: "1" },
      list: "any=1,zone=a",
      want: 'pods "p" is forbidden: pod node label selector labels conflict with its namespace whitelist',
    },
  ];
  for (const { name, annotations, given, list, want } of rows) {
    test(name, async () => {
      const plugin = podNodeSelector({
        podNodeSelectorPluginConfig: { clusterDefaultNodeSelector: "any=1", ns: list ?? "" },
      });
      const asked = pod({ nodeSelector: given });
      const { status, object } = await admitWith(
        plugin,
        podKind,
        asked,
        withNamespace(annotations as Record<string, string>),
      );
      assert.deepEqual(status?.message ?? (object as Pod).spec.nodeSelector, want);
    });
  }
});

describe("PodTolerationRestriction", () => {
  const [a, b] = ["a", "b"].map((key) => ({ key, operator: "Exists" }));
  const defaults = (value: unknown) => ({
    "scheduler.alpha.kubernetes.io/defaultTolerations": JSON.stringify(value),
  });
  const allowed = (value: unknown) => ({
    "scheduler.alpha.kubernetes.io/tolerationsWhitelist": JSON.stringify(value),
  });
  const narrow = { key: "a", operator: "Exists", effect: "NoSchedule" };
  const pressure = {
    key: "node.kubernetes.io/memory-pressure",
    operator: "Exists",
    effect: "NoSchedule",
  };
  const rows: { name: string; annotations: Record<string, string>; spec: Loose; want: unknown }[] =
    [
      {
        name: "default tolerations of the cluster are added",
        annotations: {},
        spec: {},
        want: [b],
      },
      {
        name: "default tolerations of the namespace are added",
        annotations: defaults([a]),
        spec: {},
        want: [a],
      },
      {
        name: "a toleration that a default covers is merged into it",
        annotations: defaults([a]),
        spec: { tolerations: [narrow] },
        want: [a],
      },
      {
        name: "a pod with memory requests gets a toleration of memory-pressure",
        annotations: defaults([]),
        spec: { containers: [{ resources: { requests: { memory: "1" } } }] },
        want: [pressure],
      },
      {
        name: "a pod with other requests only gets no toleration of memory-pressure",
        annotations: defaults([]),
        spec: { containers: [{ resources: { requests: { "a.b/gpu": "1" } } }] },
        want: undefined,
      },
      {
        name: "a toleration narrower than the whitelist is allowed",
        annotations: { ...defaults([]), ...allowed([a]) },
        spec: { tolerations: [narrow] },
        want: [narrow],
      },
      {
        name: "a toleration outside of the whitelist is refused",
        annotations: { ...defaults([]), ...allowed([a]) },
        spec: { tolerations: [b] },
        want: "pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace whitelist",
      },
    ];
  for (const { name, annotations, spec, want } of rows) {
    test(name, async () => {
      const plugin = podTolerationRestriction({
        apiVersion: "podtolerationrestriction.admission.k8s.io/v1alpha1",
        kind: "Configuration",
        default: [b],
      });
      const given = withNamespace(annotations);
      const { status, object } = await admitWith(plugin, podKind, pod(spec), given);
      assert.deepEqual(status?.message ?? (object as Pod).spec.tolerations, want);
    });
  }
});

describe("OwnerReferencesPermissionEnforcement", () => {
  const allowing = (...allowed: string[]): Authorizer => ({
    name: "some",
    authorize: ({ verb, group, resource, subresource, name, namespace }) => {
      const what = `${verb} ${group}/${resource}/${subresource}/${namespace}/${name}`;
      return allowed.includes(what)
        ? { decision: "allow", reason: "" }
        : { decision: "noOpinion", reason: "" };
    },
  });
  const owner = (more: object = {}) => ({
    ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "r", uid: "u", ...more }],
  });
  const blocking = owner({ blockOwnerDeletion: true });
  const cannotDelete =
    'pods "p" is forbidden: cannot set an ownerRef on a resource you can\'t delete: , <nil>';
  const cannotFinalize =
    'pods "p" is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a resource you can\'t set finalizers on: , <nil>';
  const rows: { name: string; may: string[]; meta: object; old?: object; want?: string }[] = [
    { name: "a new object may have owners", may: [], meta: owner() },
    { name: "an owner added later", may: [], meta: owner(), old: {}, want: cannotDelete },
    {
      name: "a user who may delete the object may change its owners",
      may: ["delete /pods//ns/p"],
      meta: owner(),
      old: {},
    },
    { name: "unchanged ownerReferences need no permission", may: [], meta: owner(), old: owner() },
    {
      name: "blockOwnerDeletion without permission to finalize the owner is refused",
      may: [],
      meta: blocking,
      want: cannotFinalize,
    },
    {
      name: "blockOwnerDeletion is allowed with update of the owner's finalizers",
      may: ["update apps/replicasets/finalizers/ns/r"],
      meta: blocking,
    },
    {
      name: "blockOwnerDeletion is allowed with update of all finalizers",
      may: ["update */*/finalizers//*"],
      meta: blocking,
    },
    {
      name: "blockOwnerDeletion of an owner of an unknown kind is refused",
      may: [],
      meta: owner({ kind: "Nothing", blockOwnerDeletion: true }),
      want: 'pods "p" is forbidden: cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion apps/v1 Kind Nothing: no matches for kind "Nothing" in version "apps/v1"',
    },
  ];
  for (const { name, may, meta, old, want } of rows) {
    test(name, async () => {
      const plugin = ownerReferencesPermissionEnforcement(allowing(...may), (apiVersion, name) =>
        builtInKinds.find((kind) => kind.apiVersion === apiVersion && kind.names.kind === name),
      );
      const before = old === undefined ? {} : { old: pod({}, old as Loose) };
      const { status } = await admitWith(plugin, podKind, pod({}, meta as Loose), before);
      assert.equal(status?.message, want);
    });
  }
});
