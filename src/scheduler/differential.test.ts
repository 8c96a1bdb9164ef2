/**
 * The fast scheduler against a slow one that is written from the documented rules: it knows no
 * snapshot, no classes and no counters, and looks at every node and every pod for each question.
 */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Node, Pod, PodAffinityTerm } from "#api/generated/core.v1.ts";
import type { DeviceClass, ResourceClaim, ResourceSlice } from "#api/generated/resource.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { deviceClassKind } from "#api/kinds/resource/v1/device-class.ts";
import { resourceClaimKind } from "#api/kinds/resource/v1/resource-claim.ts";
import { resourceSliceKind } from "#api/kinds/resource/v1/resource-slice.ts";
import { matchesLabels, selectorOf } from "#api/meta/label-selector.ts";
import { quantityMilliValue, quantityOf } from "#api/meta/quantity.ts";
import { Cache } from "#client/cache.ts";
import { type Random, seededRandom } from "#lib/random.ts";
import { build } from "#testing/build.ts";
import { startFilters } from "./cycle/filter-run.ts";
import { findNodes } from "./cycle/find-nodes.ts";
import { createProfile } from "./cycle/profile.ts";
import { ReusableResults } from "./cycle/reusable-results.ts";
import { scoreNodes } from "./cycle/score-nodes.ts";
import { FITS, type Handle, type Plugin } from "./plugin.ts";
import { sharedDeviceState } from "./plugins/dynamic-resources/device-state.ts";
import { imageLocality } from "./plugins/image-locality.ts";
import { interPodAffinity } from "./plugins/inter-pod-affinity.ts";
import { nodeAffinity } from "./plugins/node-affinity.ts";
import { nodeResourcesBalancedAllocation } from "./plugins/node-resources-balanced-allocation.ts";
import { nodeResourcesFit } from "./plugins/node-resources-fit.ts";
import { podTopologySpread } from "./plugins/pod-topology-spread.ts";
import { taintToleration } from "./plugins/taint-toleration.ts";
import { Nominator } from "./queue/nominator.ts";
import { GPU, SLOW_SCORES, type SlowWorld } from "./slow-scores.testing.ts";
import type { ClusterObjects } from "./snapshot/cluster-objects.ts";
import { PodInfo } from "./snapshot/pod-info.ts";
import { Snapshot } from "./snapshot/snapshot.ts";

const CLUSTERS = 2_000;
const CHANGES = 60;
const QUESTIONS = 4;
const ZONE = "topology.kubernetes.io/zone";
const HOST = "kubernetes.io/hostname";
const IMAGES = [
  { name: "small:1", sizeBytes: 30_000_000 },
  { name: "large:1", sizeBytes: 900_000_000 },
];
const APPS = ["web", "db", "cache"];
const DRIVER = "gpu.example.com";

interface World extends SlowWorld {
  readonly nodes: Map<string, Node>;
  readonly pods: Map<string, Pod>;
  readonly slices: Map<string, ResourceSlice>;
  readonly claims: Map<string, ResourceClaim>;
}

/** The same slices and claims as the fast scheduler sees them. */
interface DeviceCaches {
  readonly slices: Cache<ResourceSlice>;
  readonly claims: Cache<ResourceClaim>;
}

describe("differential: random clusters", () => {
  for (let block = 0; block < 10; block++) {
    test(`feasible nodes and scores agree with the slow scheduler, block ${block}`, () => {
      for (let i = 0; i < CLUSTERS / 10; i++) compare(block * 1_000 + i);
    });
  }
});

function compare(seed: number): void {
  const random = seededRandom(seed);
  const snapshot = new Snapshot();
  // Half of the clusters score an extended resource for which devices stand.
  const scored = seed % 2 === 0 ? { cpu: 1, memory: 1 } : { cpu: 1, memory: 1, [GPU]: 2 };
  const world: World = {
    ...{ nodes: new Map(), pods: new Map(), slices: new Map(), claims: new Map() },
    scored,
  };
  const caches = { slices: new Cache<ResourceSlice>(), claims: new Cache<ResourceClaim>() };
  const plugins = pluginsFor(snapshot, caches, scored);
  const profile = createProfile("test", (hook) =>
    plugins.filter((plugin) => plugin[hook] !== undefined).map((plugin) => ({ plugin, weight: 1 })),
  );
  const reusable = new ReusableResults();
  const asked: Pod[] = [];
  for (let i = 0; i < CHANGES; i++) {
    change(random, world, snapshot, i);
    if (GPU in scored) changeDevices(random, world, caches, i);
    if (i % (CHANGES / QUESTIONS) !== 0) continue;
    const isAgain = asked.length > 0 && random.next() < 0.6;
    const pod = isAgain
      ? asked[random.integer(asked.length)]!
      : randomPod(random, `asked-${i}`, undefined);
    asked.push(pod);
    const info = new PodInfo(pod);
    const nominated = new Nominator();
    const started = startFilters(profile, info, snapshot, nominated);
    assert.ok(started.ok);
    const feasible = snapshot.nodes.filter((node) => started.run.check(node).verdict === FITS);
    const names = feasible.map(({ name }) => name).sort();
    const slow = [...world.nodes.values()].filter((node) => fitsSlowly(pod, node, world));
    assert.deepEqual(
      names,
      slow.map(({ metadata }) => metadata.name ?? "").sort(),
      `seed ${seed}/${i}`,
    );
    const results = reusable.of(info, snapshot);
    const reused = findNodes(started.run, snapshot.nodes, { start: 0, wanted: 1e9, results });
    const anew = findNodes(started.run, snapshot.nodes, { start: 0, wanted: 1e9 });
    assert.deepEqual(reused.feasible, anew.feasible, `reused, seed ${seed}/${i}`);
    assert.deepEqual([...reused.verdicts], [...anew.verdicts], `reused, seed ${seed}/${i}`);
    assert.deepEqual([...reused.rejections], [...anew.rejections], `reused, seed ${seed}/${i}`);
    if (feasible.length < 2) continue;
    const { states } = started.run;
    const { byPlugin } = scoreNodes(profile, info, feasible, snapshot, states);
    const reusedScores = scoreNodes(profile, info, feasible, snapshot, states, reused.known);
    assert.deepEqual(reusedScores.byPlugin, byPlugin, `reused, seed ${seed}/${i}`);
    const nodes = feasible.map(({ node }) => node!);
    for (const [name, scorer] of Object.entries(SLOW_SCORES)) {
      const fast = byPlugin.find(({ plugin }) => plugin === name)?.scores ?? nodes.map(() => 0);
      assert.deepEqual([...fast], scorer(pod, nodes, world), `${name}, seed ${seed}/${i}`);
    }
    const affinity = byPlugin.find(({ plugin }) => plugin === "InterPodAffinity");
    const raw = feasible.map(({ node }) => affinityScoreSlowly(pod, node!, world));
    assert.deepEqual(affinity?.scores ?? feasible.map(() => 0), spread(raw), `seed ${seed}/${i}`);
  }
}

function pluginsFor(
  snapshot: Snapshot,
  { slices, claims }: DeviceCaches,
  scored: SlowWorld["scored"],
): readonly Plugin[] {
  const deviceClasses = new Cache<DeviceClass>();
  deviceClasses.put(
    build(deviceClassKind, {
      metadata: { name: "large" },
      spec: {
        extendedResourceName: GPU,
        selectors: [{ cel: { expression: `device.attributes["${DRIVER}"].model == "large"` } }],
      },
    }),
  );
  const objects: Partial<ClusterObjects> = {
    ...{ services: new Cache(), resourceSlices: slices, resourceClaims: claims, deviceClasses },
  };
  // The plugins that are compared use nothing else.
  const handle = { snapshot, objects } as Handle;
  const devices = sharedDeviceState();
  const resources = Object.entries(scored).map(([name, weight]) => ({ name, weight }));
  const scoringStrategy = { type: "LeastAllocated", resources };
  return [
    nodeResourcesFit(devices).create({ scoringStrategy }, handle),
    nodeResourcesBalancedAllocation(devices).create({ resources }, handle),
    ...[taintToleration, nodeAffinity, podTopologySpread, interPodAffinity, imageLocality].map(
      (factory) => factory.create(undefined, handle),
    ),
  ];
}

/** Offers devices on a node or in a zone, or takes them away; allocates some, or frees them. */
function changeDevices(
  random: Random,
  { nodes, slices, claims }: World,
  caches: DeviceCaches,
  i: number,
): void {
  const pick = <T>(list: readonly T[]): T => list[random.integer(list.length)]!;
  const kind = random.integer(6);
  if (kind < 2) {
    const name = random.next() < 0.8 ? pick([...nodes.keys()]) : `z${random.integer(3)}`;
    const slice = randomSlice(random, name, String(i + 1));
    slices.set(name, slice);
    caches.slices.put(slice);
  } else if (kind === 2 && slices.size > 2) {
    const name = pick([...slices.keys()]);
    caches.slices.remove(slices.get(name)!);
    slices.delete(name);
  } else if (kind === 3 && claims.size > 2) {
    const name = pick([...claims.keys()]);
    caches.claims.remove(claims.get(name)!);
    claims.delete(name);
  } else if (slices.size > 0) {
    const { spec } = pick([...slices.values()]);
    const claim = build(resourceClaimKind, {
      metadata: { name: `c${i}`, resourceVersion: String(i + 1) },
      spec: { devices: { requests: [{ name: "r", exactly: { deviceClassName: "large" } }] } },
      status: {
        allocation: {
          devices: {
            results: [
              {
                ...{ request: "r", driver: DRIVER, pool: spec.pool.name },
                device: pick(spec.devices ?? []).name,
                adminAccess: random.next() < 0.2,
              },
            ],
          },
        },
      },
    });
    claims.set(`c${i}`, claim);
    caches.claims.put(claim);
  }
}

function randomSlice(random: Random, name: string, resourceVersion: string): ResourceSlice {
  const nodeSelectorTerms = [
    { matchExpressions: [{ key: ZONE, operator: "In" as const, values: [name] }] },
  ];
  return build(resourceSliceKind, {
    metadata: { name, resourceVersion },
    spec: {
      ...{ driver: DRIVER, pool: { name, generation: 1, resourceSliceCount: 1 } },
      ...(name.startsWith("z") ? { nodeSelector: { nodeSelectorTerms } } : { nodeName: name }),
      devices: Array.from({ length: 1 + random.integer(4) }, (_, index) => ({
        name: `d${index}`,
        attributes: { model: { string: random.next() < 0.7 ? "large" : "small" } },
      })),
    },
  });
}

/** Adds, changes or removes a node or a pod in both. */
function change(random: Random, { nodes, pods }: World, snapshot: Snapshot, i: number): void {
  const pick = <T>(list: readonly T[]): T => list[random.integer(list.length)]!;
  const kind = random.integer(10);
  if (kind < 3 || nodes.size === 0) {
    const isOld = nodes.size > 3 && random.next() < 0.4;
    const node = randomNode(random, isOld ? pick([...nodes.keys()]) : `n${i}`);
    nodes.set(node.metadata.name ?? "", node);
    snapshot.setNode(node);
  } else if (kind === 3 && nodes.size > 3) {
    const name = pick([...nodes.keys()]);
    nodes.delete(name);
    snapshot.removeNode(name);
  } else if (kind === 4 && pods.size > 0) {
    const uid = pick([...pods.keys()]);
    pods.delete(uid);
    snapshot.removePod(uid);
  } else if (kind === 5 && pods.size > 0) {
    const pod = updatedPod(random, pick([...pods.values()]));
    pods.set(pod.metadata.uid ?? "", pod);
    snapshot.setPod(pod);
  } else {
    const pod = randomPod(random, `p${i}`, pick([...nodes.keys()]));
    pods.set(pod.metadata.uid ?? "", pod);
    snapshot.setPod(pod);
  }
}

/** Mostly an update of the status, which changes no count; sometimes of labels, too. */
function updatedPod(random: Random, pod: Pod): Pod {
  const { metadata, status } = pod;
  const labels =
    random.next() < 0.3 ? { app: APPS[random.integer(APPS.length)]! } : metadata.labels;
  const startTime = `2030-01-01T00:00:${10 + random.integer(40)}Z`;
  return {
    ...pod,
    metadata: { ...metadata, ...(labels === undefined ? {} : { labels }) },
    status: { ...status, phase: "Running", startTime },
  };
}

function randomNode(random: Random, name: string): Node {
  const zone = random.next() < 0.85 ? { [ZONE]: `z${random.integer(3)}` } : {};
  const isTainted = random.next() < 0.15;
  const soft = Array.from({ length: random.integer(3) }, (_, index) => ({
    key: `soft-${index}`,
    effect: "PreferNoSchedule" as const,
  }));
  const hard = isTainted ? [{ key: "k", effect: "NoSchedule" as const }] : [];
  const images = IMAGES.filter(() => random.next() < 0.4);
  return build(nodeKind, {
    metadata: { name, labels: { [HOST]: name, ...zone } },
    spec: { taints: [...soft, ...hard] },
    status: {
      allocatable: {
        cpu: String(1 + random.integer(4)),
        memory: `${4 + random.integer(4)}Gi`,
        pods: "20",
        ...(random.next() < 0.2 ? { [GPU]: String(1 + random.integer(3)) } : {}),
      },
      images: images.map(({ name, sizeBytes }) => ({ names: [name], sizeBytes })),
    },
  });
}

function randomPod(random: Random, name: string, nodeName: string | undefined): Pod {
  const app = (): string => APPS[random.integer(APPS.length)]!;
  const topologyKey = (): string => (random.next() < 0.5 ? ZONE : HOST);
  const term = (): PodAffinityTerm => ({
    labelSelector: { matchLabels: { app: app() } },
    topologyKey: topologyKey(),
  });
  const some = <T>(chance: number, make: () => T): T[] => (random.next() < chance ? [make()] : []);
  const preference = () => ({
    weight: 1 + random.integer(100),
    preference: {
      matchExpressions: [{ key: ZONE, operator: "In" as const, values: [`z${random.integer(3)}`] }],
    },
  });
  const weighted = () => ({ weight: 1 + random.integer(100), podAffinityTerm: term() });
  return build(podKind, {
    metadata: { name, labels: { app: app() } },
    spec: {
      ...(nodeName === undefined ? {} : { nodeName }),
      containers: [
        {
          name: "c",
          image: IMAGES[random.integer(IMAGES.length + 1)]?.name ?? "x",
          resources: {
            requests: {
              cpu: `${random.integer(15) * 100}m`,
              ...(random.next() < 0.5 ? { memory: `${random.integer(5) * 100}Mi` } : {}),
              ...(random.next() < 0.3 ? { [GPU]: String(1 + random.integer(2)) } : {}),
            },
          },
        },
      ],
      ...(random.next() < 0.3 ? { tolerations: [{ operator: "Exists" as const }] } : {}),
      affinity: {
        nodeAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            ...some(0.5, preference),
            ...some(0.5, preference),
          ],
        },
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: some(0.15, term),
          preferredDuringSchedulingIgnoredDuringExecution: some(0.3, weighted),
        },
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: some(0.2, term),
          preferredDuringSchedulingIgnoredDuringExecution: some(0.3, weighted),
        },
      },
      topologySpreadConstraints: some(0.3, () => ({
        maxSkew: 1 + random.integer(2),
        topologyKey: topologyKey(),
        whenUnsatisfiable:
          random.next() < 0.5 ? ("DoNotSchedule" as const) : ("ScheduleAnyway" as const),
        labelSelector: { matchLabels: { app: app() } },
        nodeTaintsPolicy: random.next() < 0.5 ? ("Honor" as const) : ("Ignore" as const),
      })),
    },
  });
}

function fitsSlowly(pod: Pod, node: Node, world: World): boolean {
  return (
    isTolerated(pod, node) &&
    hasRoom(pod, node, world) &&
    isSpread(pod, node, world) &&
    isNear(pod, node, world) &&
    isFar(pod, node, world)
  );
}

const isTolerated = ({ spec }: Pod, node: Node): boolean =>
  (spec.tolerations ?? []).length > 0 ||
  !(node.spec?.taints ?? []).some(({ effect }) => effect === "NoSchedule");

const podsOn = (node: Node, { pods }: World): Pod[] =>
  [...pods.values()].filter(({ spec }) => spec.nodeName === node.metadata.name);

const requestOf = ({ spec }: Pod, name: string): number =>
  quantityMilliValue(quantityOf(spec.containers?.[0]?.resources?.requests?.[name] ?? "0"));

const allocatableOf = ({ status }: Node, name: string): number =>
  quantityMilliValue(quantityOf(status?.allocatable?.[name] ?? "0"));

function hasRoom(pod: Pod, node: Node, world: World): boolean {
  const pods = podsOn(node, world);
  const isEnough = ["cpu", "memory"].every((name) => {
    const used = pods.reduce((sum, one) => sum + requestOf(one, name), 0);
    const free = allocatableOf(node, name) - used;
    return requestOf(pod, name) === 0 || requestOf(pod, name) <= free;
  });
  // Devices stand for the resource where no device plugin offers it: that is not asked here.
  const offered = allocatableOf(node, GPU);
  const taken = pods.reduce((sum, one) => sum + requestOf(one, GPU), 0);
  const asked = requestOf(pod, GPU);
  const isOffered = asked === 0 || offered === 0 || asked <= offered - taken;
  return pods.length < 20 && isEnough && isOffered;
}

const labelOf = (node: Node, key: string): string | undefined => node.metadata.labels?.[key];

function selects(labelSelector: PodAffinityTerm["labelSelector"], { metadata }: Pod): boolean {
  const parsed = selectorOf(labelSelector);
  return parsed.ok && matchesLabels(parsed.value, metadata.labels);
}

function isSpread(pod: Pod, node: Node, world: World): boolean {
  const constraints = (pod.spec.topologySpreadConstraints ?? []).filter(
    ({ whenUnsatisfiable }) => whenUnsatisfiable === "DoNotSchedule",
  );
  return constraints.every((constraint) => {
    const own = labelOf(node, constraint.topologyKey);
    if (own === undefined) return false;
    const counts = new Map<string, number>();
    for (const other of world.nodes.values()) {
      const domain = labelOf(other, constraint.topologyKey);
      if (domain === undefined) continue;
      if (constraint.nodeTaintsPolicy === "Honor" && !isTolerated(pod, other)) continue;
      const pods = podsOn(other, world).filter((one) => selects(constraint.labelSelector, one));
      counts.set(domain, (counts.get(domain) ?? 0) + pods.length);
    }
    if (counts.size === 0) return true;
    const self = selects(constraint.labelSelector, pod) ? 1 : 0;
    return (counts.get(own) ?? 0) + self - Math.min(...counts.values()) <= constraint.maxSkew;
  });
}

/** Pods that the term selects in the node's domain. */
function matching(
  { labelSelector, topologyKey }: PodAffinityTerm,
  node: Node,
  world: World,
): Pod[] {
  const domain = labelOf(node, topologyKey);
  if (domain === undefined) return [];
  return [...world.nodes.values()]
    .filter((other) => labelOf(other, topologyKey) === domain)
    .flatMap((other) => podsOn(other, world))
    .filter((other) => selects(labelSelector, other));
}

const required = (pod: Pod, kind: "podAffinity" | "podAntiAffinity"): readonly PodAffinityTerm[] =>
  pod.spec.affinity?.[kind]?.requiredDuringSchedulingIgnoredDuringExecution ?? [];

function isNear(pod: Pod, node: Node, world: World): boolean {
  const terms = required(pod, "podAffinity");
  if (terms.some(({ topologyKey }) => labelOf(node, topologyKey) === undefined)) return false;
  if (terms.every((term) => matching(term, node, world).length > 0)) return true;
  const isFirst = terms.every((term) =>
    [...world.nodes.values()].every((other) => matching(term, other, world).length === 0),
  );
  return isFirst && terms.every(({ labelSelector }) => selects(labelSelector, pod));
}

function isFar(pod: Pod, node: Node, world: World): boolean {
  if (required(pod, "podAntiAffinity").some((term) => matching(term, node, world).length > 0)) {
    return false;
  }
  return [...world.nodes.values()].every((other) =>
    podsOn(other, world).every((existing) =>
      required(existing, "podAntiAffinity").every(
        ({ labelSelector, topologyKey }) =>
          !selects(labelSelector, pod) ||
          labelOf(other, topologyKey) === undefined ||
          labelOf(other, topologyKey) !== labelOf(node, topologyKey),
      ),
    ),
  );
}

function affinityScoreSlowly(pod: Pod, node: Node, world: World): number {
  let score = 0;
  const preferred = (one: Pod, kind: "podAffinity" | "podAntiAffinity") =>
    one.spec.affinity?.[kind]?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  for (const [kind, sign] of [
    ["podAffinity", 1],
    ["podAntiAffinity", -1],
  ] as const) {
    for (const { weight, podAffinityTerm } of preferred(pod, kind)) {
      score += sign * weight * matching(podAffinityTerm, node, world).length;
    }
  }
  for (const other of world.nodes.values()) {
    for (const existing of podsOn(other, world)) {
      const add = (term: PodAffinityTerm, weight: number): void => {
        const domain = labelOf(other, term.topologyKey);
        if (domain === undefined || domain !== labelOf(node, term.topologyKey)) return;
        if (selects(term.labelSelector, pod)) score += weight;
      };
      for (const term of required(existing, "podAffinity")) add(term, 1);
      for (const one of preferred(existing, "podAffinity")) add(one.podAffinityTerm, one.weight);
      for (const one of preferred(existing, "podAntiAffinity"))
        add(one.podAffinityTerm, -one.weight);
    }
  }
  return score;
}

function spread(raw: readonly number[]): number[] {
  const [lowest, highest] = [Math.min(...raw), Math.max(...raw)];
  return raw.map((one) =>
    highest === lowest ? 0 : Math.trunc(100 * ((one - lowest) / (highest - lowest))),
  );
}
