import assert from "node:assert/strict";
import { test } from "vitest";
import type { OwnerReference } from "#api/generated/meta.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import { Cache, type Change } from "#client/cache.ts";
import type { Caches, Resource } from "#runtime/controller.ts";
import { ResourceSet } from "#runtime/resource-set.ts";
import type { Write } from "#runtime/writes.ts";
import {
  decide,
  type GarbageState,
  garbageCollector,
  type OwnerView,
} from "./garbage-collector.ts";

const RESOURCE: Resource = {
  group: "",
  version: "v1",
  apiVersion: "v1",
  scope: "Namespaced",
  names: { kind: "ConfigMap", plural: "configmaps" },
  verbs: ["delete", "list", "watch"],
};

const DELETED = "2030-01-01T00:00:00Z";

function object(name: string, metadata: Partial<KubeObject["metadata"]> = {}): KubeObject {
  return {
    metadata: { name, namespace: "ns", uid: `uid-${name}`, resourceVersion: "7", ...metadata },
  };
}

function owner(name: string, block = true): OwnerReference {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    name,
    uid: `uid-${name}`,
    blockOwnerDeletion: block,
  };
}

function owned(
  owners: Record<string, OwnerView["state"]>,
  metadata: Partial<KubeObject["metadata"]> = {},
): GarbageState {
  const views = Object.entries(owners).map(([name, state]) => ({ reference: owner(name), state }));
  const ownerReferences = views.map(({ reference }) => reference);
  return {
    resource: RESOURCE,
    object: object("a", { ownerReferences, ...metadata }),
    owners: views,
    dependents: [],
  };
}

function withDependents(state: GarbageState, ...dependents: KubeObject[]): GarbageState {
  return { ...state, dependents: dependents.map((d) => ({ resource: RESOURCE, object: d })) };
}

function show(write: Write): string {
  if (write.op === "delete") {
    const { target, propagation, resourceVersion } = write;
    return `delete ${target.name}${resourceVersion === undefined ? "" : " unchanged"} ${propagation}`;
  }
  if (write.op !== "patch") return write.op;
  const {
    uid: _,
    resourceVersion: __,
    ...metadata
  } = (write.patch as { metadata: Record<string, unknown> }).metadata;
  return `patch ${write.target.name} ${JSON.stringify(metadata)}`;
}

const cases: { name: string; state: GarbageState; want: readonly string[] }[] = [
  { name: "an owner that is there keeps it", state: owned({ o: "solid" }), want: [] },
  {
    name: "no owner left: it goes",
    state: owned({ o: "absent" }),
    want: ["delete a unchanged Background"],
  },
  {
    name: "an owner that waits is let go while another owner is there",
    state: owned({ o: "waiting", p: "solid" }),
    want: [`patch a {"ownerReferences":[${JSON.stringify(owner("p"))}]}`],
  },
  {
    name: "its own finalizers choose how",
    state: owned({ o: "absent" }, { finalizers: ["foregroundDeletion"] }),
    want: ["delete a unchanged Foreground"],
  },
  {
    name: "dangling references are cut off while another owner is there",
    state: owned({ gone: "absent", o: "solid" }),
    want: [`patch a {"ownerReferences":[${JSON.stringify(owner("o"))}]}`],
  },
  {
    name: "an owner that waits takes it along, in the foreground if it has dependents itself",
    state: withDependents(owned({ o: "waiting" }), object("b")),
    want: ["delete a unchanged Foreground"],
  },
  {
    name: "two that wait for each other: the inner one stops blocking",
    state: withDependents(
      owned({ o: "waiting" }),
      object("o", { deletionTimestamp: DELETED, finalizers: ["foregroundDeletion"] }),
    ),
    want: [
      `patch a {"ownerReferences":[${JSON.stringify(owner("o", false))}]}`,
      "delete a Foreground",
    ],
  },
  {
    name: "being deleted already: nothing to add",
    state: owned({ o: "absent" }, { deletionTimestamp: DELETED }),
    want: [],
  },
  {
    name: "foreground: it waits for dependents that block",
    state: withDependents(
      owned({}, { deletionTimestamp: DELETED, finalizers: ["foregroundDeletion"] }),
      object("b", { ownerReferences: [owner("a")] }),
      object("c", { ownerReferences: [owner("a", false)] }),
      object("d", { ownerReferences: [owner("a")], deletionTimestamp: DELETED }),
    ),
    want: [],
  },
  {
    name: "foreground: without dependents that block it may go",
    state: withDependents(
      owned({}, { deletionTimestamp: DELETED, finalizers: ["x", "foregroundDeletion"] }),
      object("c", { ownerReferences: [owner("a", false)] }),
    ),
    want: ['patch a {"finalizers":["x"]}'],
  },
  {
    name: "orphan: dependents are cut loose, then it may go",
    state: withDependents(
      owned({}, { deletionTimestamp: DELETED, finalizers: ["orphan"] }),
      object("b", { ownerReferences: [owner("a"), owner("z")] }),
      object("c", { ownerReferences: [owner("a")] }),
    ),
    want: [
      `patch b {"ownerReferences":[${JSON.stringify(owner("z"))}]}`,
      'patch c {"ownerReferences":null}',
      'patch a {"finalizers":[]}',
    ],
  },
];

for (const { name, state, want } of cases) {
  test(`decide: garbage collector: ${name}`, () => {
    const { writes = [] } = decide(state);
    assert.deepEqual((writes.flat() as Write[]).map(show), want);
  });
}

test("garbage collector: an owner in another namespace is ignored, and an Event is recorded", () => {
  const state = owned({ o: "absent" });
  const [view] = state.owners;
  const { events = [] } = decide({ ...state, owners: [{ ...view!, isElsewhere: true }] });
  const { apiVersion, kind, name, uid } = view!.reference;
  const { namespace } = state.object.metadata;
  assert.deepEqual(
    events.map(({ reason, message }) => `${reason}: ${message}`),
    [
      `OwnerRefInvalidNamespace: ownerRef [${apiVersion}/${kind}, namespace: ${namespace}, name: ${name}, uid: ${uid}] does not exist in namespace "${namespace}"`,
    ],
  );
});

const FOREGROUND = { deletionTimestamp: DELETED, finalizers: ["foregroundDeletion"] };
const HELD = object("a", { ownerReferences: [owner("o")] });

const queued: {
  name: string;
  cached: readonly KubeObject[];
  change: Change<KubeObject>;
  want: readonly string[];
}[] = [
  {
    name: "a new object whose owner is in the cache is not queued",
    cached: [object("o"), HELD],
    change: { next: HELD, old: undefined },
    want: [],
  },
  {
    name: "a new object whose owner the cache does not have is queued",
    cached: [HELD],
    change: { next: HELD, old: undefined },
    want: ["a"],
  },
  {
    name: "a new object with one owner in the cache and one that is not is queued",
    cached: [object("o")],
    change: {
      next: object("a", { ownerReferences: [owner("o"), owner("p")] }),
      old: undefined,
    },
    want: ["a"],
  },
  {
    name: "a new object whose owner has another uid is queued",
    cached: [object("o", { uid: "other" }), HELD],
    change: { next: HELD, old: undefined },
    want: ["a"],
  },
  {
    name: "a new object whose owner is in another namespace is queued",
    cached: [object("o", { namespace: "other" }), HELD],
    change: { next: HELD, old: undefined },
    want: ["a"],
  },
  {
    name: "a new object whose owner waits for its dependents is queued",
    cached: [object("o", FOREGROUND), HELD],
    change: { next: HELD, old: undefined },
    want: ["a"],
  },
  {
    name: "an object that is being deleted is queued although its owner is in the cache",
    cached: [object("o")],
    change: { next: object("a", { ...HELD.metadata, ...FOREGROUND }), old: HELD },
    want: ["a"],
  },
  {
    name: "dependents are queued when their owner is gone",
    cached: [HELD],
    change: { next: undefined, old: object("o") },
    want: ["a"],
  },
  {
    name: "dependents are queued when their owner begins to wait for them",
    cached: [object("o", FOREGROUND), HELD],
    change: { next: object("o", FOREGROUND), old: object("o") },
    want: ["o", "a"],
  },
  {
    name: "dependents are queued when another object took the name of their owner unseen",
    cached: [object("o", { uid: "other" }), HELD],
    change: { next: object("o", { uid: "other" }), old: object("o") },
    want: ["a"],
  },
];

for (const { name, cached, change, want } of queued) {
  test(`feed: garbage collector: ${name}`, () => {
    const { discovered } = garbageCollector(new ResourceSet([RESOURCE]));
    const cache = new Cache<KubeObject>();
    for (const { name: index, values } of discovered!.indexes?.(RESOURCE) ?? []) {
      cache.addIndex(index, values);
    }
    for (const one of cached) cache.put(one);
    const caches = (() => cache) as unknown as Caches;
    const keys = discovered!.feed(RESOURCE)!.keysOfChange!(change, caches);
    assert.deepEqual(
      keys.map((key) => key.name),
      want,
    );
  });
}
