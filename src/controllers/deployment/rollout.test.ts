import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Deployment, ReplicaSet } from "#api/generated/apps.v1.ts";
import { proportionalSizes, rollingStep } from "./rollout.ts";
import { maxSurge, maxUnavailable, minAvailable } from "./strategy.ts";

type Limit = number | string;

function deployment(
  replicas: number,
  surge: Limit,
  unavailable: Limit,
  type = "RollingUpdate",
): Deployment {
  return {
    metadata: { name: "web" },
    spec: {
      replicas,
      selector: {},
      template: { metadata: {}, spec: { containers: [] } },
      strategy: { type, rollingUpdate: { maxSurge: surge, maxUnavailable: unavailable } },
    },
    status: {},
  };
}

/** A set of this size, of which so many pods are available. */
function set(name: string, size: number, available = size, max?: number): ReplicaSet {
  const annotations =
    max === undefined ? {} : { "deployment.kubernetes.io/max-replicas": String(max) };
  return {
    metadata: {
      name,
      uid: name,
      creationTimestamp: `2030-01-01T00:00:0${name.length}Z`,
      annotations,
    },
    spec: { replicas: size, selector: {}, template: { metadata: {}, spec: { containers: [] } } },
    status: { replicas: size, availableReplicas: available },
  };
}

describe("Deployment: maxSurge, maxUnavailable and minAvailable", () => {
  const rows: { name: string; of: Deployment; want: readonly number[] }[] = [
    { name: "numbers are taken as they are", of: deployment(10, 3, 2), want: [3, 2, 8] },
    {
      name: "percentages of maxSurge are rounded up, of maxUnavailable down",
      of: deployment(10, "25%", "25%"),
      want: [3, 2, 8],
    },
    { name: "maxUnavailable is 1 if both are 0", of: deployment(10, 0, 0), want: [0, 1, 9] },
    { name: "a share that comes to nothing", of: deployment(1, "0%", "10%"), want: [0, 1, 0] },
    { name: "no more missing than there are", of: deployment(2, 0, 5), want: [0, 2, 0] },
    {
      name: "strategy Recreate has no limits",
      of: deployment(10, 3, 2, "Recreate"),
      want: [0, 0, 0],
    },
    { name: "maxUnavailable is 0 with 0 replicas", of: deployment(0, 3, 2), want: [3, 0, 0] },
  ];
  for (const { name, of, want } of rows) {
    test(name, () => assert.deepEqual([maxSurge(of), maxUnavailable(of), minAvailable(of)], want));
  }
});

describe("Deployment: a step of a rolling update", () => {
  const rows: {
    name: string;
    of: Deployment;
    current: ReplicaSet;
    old: ReplicaSet[];
    want: Record<string, number>;
  }[] = [
    {
      name: "the new set grows into the surge first",
      of: deployment(10, 3, 2),
      current: set("new", 0),
      old: [set("o", 10)],
      want: { new: 3 },
    },
    {
      name: "old pods are deleted as far as enough are available",
      of: deployment(10, 3, 2),
      current: set("new", 3, 0),
      old: [set("o", 10)],
      want: { o: 8 },
    },
    {
      name: "what became free goes to the new set",
      of: deployment(10, 3, 2),
      current: set("new", 3, 0),
      old: [set("o", 8)],
      want: { new: 5 },
    },
    {
      name: "stuck: nothing moves while the new pods are not available",
      of: deployment(10, 3, 2),
      current: set("new", 5, 0),
      old: [set("o", 8)],
      want: {},
    },
    {
      name: "available new pods let old ones go",
      of: deployment(10, 3, 2),
      current: set("new", 5, 3),
      old: [set("o", 8)],
      want: { o: 5 },
    },
    {
      name: "unhealthy old pods are scaled down first",
      of: deployment(10, 0, 2),
      current: set("new", 0),
      old: [set("bad", 4, 0), set("o", 6, 6)],
      want: { bad: 2 },
    },
    {
      name: "too large a new set shrinks to fit",
      of: deployment(5, 1, 1),
      current: set("new", 8),
      old: [],
      want: { new: 5 },
    },
    {
      name: "a complete rollout changes nothing",
      of: deployment(5, 1, 1),
      current: set("new", 5),
      old: [set("o", 0)],
      want: {},
    },
    {
      name: "with maxUnavailable 0 an old replica goes for each new available one",
      of: deployment(3, 1, 0),
      current: set("new", 1, 1),
      old: [set("o", 3)],
      want: { o: 2 },
    },
  ];
  for (const { name, of, current, old, want } of rows) {
    test(name, () => assert.deepEqual(Object.fromEntries(rollingStep(of, { current, old })), want));
  }
});

describe("Deployment: scaling in proportion", () => {
  const midway = { current: set("new", 5, 5, 13), old: [set("o", 8, 8, 13)] };
  const rows: {
    name: string;
    of: Deployment;
    current: ReplicaSet | undefined;
    old: ReplicaSet[];
    want: Record<string, number>;
  }[] = [
    {
      name: "the only ReplicaSet with pods gets all replicas",
      of: deployment(10, 2, 2),
      current: set("new", 5, 5, 7),
      old: [set("o", 0)],
      want: { new: 10 },
    },
    {
      name: "no set with pods: the newest",
      of: deployment(4, 1, 1),
      current: undefined,
      old: [set("a", 0), set("bb", 0)],
      want: { bb: 4 },
    },
    {
      name: "up, in the middle of a rollout",
      of: deployment(15, 3, 2),
      ...midway,
      want: { o: 11, new: 7 },
    },
    {
      name: "down, in the middle of a rollout",
      of: deployment(5, 3, 2),
      ...midway,
      want: { o: 5, new: 3 },
    },
    {
      name: "0 replicas scale every ReplicaSet to 0",
      of: deployment(0, 3, 2),
      ...midway,
      want: { o: 0, new: 0 },
    },
    {
      name: "leftovers go to the largest",
      of: deployment(11, 0, 1),
      current: set("new", 5, 5, 10),
      old: [set("o", 5, 5, 10)],
      want: { new: 6, o: 5 },
    },
  ];
  for (const { name, of, current, old, want } of rows) {
    test(name, () =>
      assert.deepEqual(Object.fromEntries(proportionalSizes(of, { current, old })), want),
    );
  }
});
