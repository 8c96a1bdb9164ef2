/** The plug-ins that fill things in or look at one object only. */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { limitRangeKind } from "#api/core/v1/limit-range.ts";
import { namespaceKind } from "#api/core/v1/namespace.ts";
import { nodeKind } from "#api/core/v1/node.ts";
import { persistentVolumeKind } from "#api/core/v1/persistent-volume/persistent-volume.ts";
import { persistentVolumeClaimKind } from "#api/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { podKind } from "#api/core/v1/pod.ts";
import { serviceAccountKind } from "#api/core/v1/service-account.ts";
import type { Pod } from "#api/generated/core.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import { ingressKind } from "#api/networking/v1/ingress.ts";
import { ingressClassKind } from "#api/networking/v1/ingress-class.ts";
import { runtimeClassKind } from "#api/node/v1/runtime-class.ts";
import { priorityClassKind } from "#api/scheduling/v1/priority-class.ts";
import { storageClassKind } from "#api/storage/v1/storage-class.ts";
import { seededRandom } from "#lib/random.ts";
import { VirtualClock } from "#lib/virtual-clock.ts";
import { admitWith } from "#testing/admission.ts";
import { MemoryObjects } from "#testing/memory-objects.ts";
import { alwaysAllow } from "../authz/chain.ts";
import { persistentVolumeClaimResize } from "./claim-resize.ts";
import { defaultIngressClass, defaultStorageClass } from "./default-classes.ts";
import { defaultTolerationSeconds } from "./default-toleration-seconds.ts";
import { limitRanger } from "./limit-ranger.ts";
import { namespaceLifecycle } from "./namespace-lifecycle.ts";
import { podResizeValidator } from "./pod-resize.ts";
import { podTopologyLabels } from "./pod-topology-labels.ts";
import { priority } from "./priority.ts";
import { admissionPlugins } from "./registry.ts";
import { runtimeClass } from "./runtime-class.ts";
import { serviceAccount } from "./service-account.ts";
import { storageObjectInUseProtection } from "./storage-protection.ts";
import { taintNodesByCondition } from "./taint-nodes.ts";

type Loose = Record<string, unknown>;
const object = (name: string, fields: Loose = {}, meta: Loose = {}): never =>
  ({ metadata: { name, namespace: "ns", ...meta }, ...fields }) as never;
const pod = (spec: Loose = {}, meta: Loose = {}): never =>
  object("p", { spec: { containers: [{ name: "c", image: "i" }], ...spec } }, meta);
const specOf = (result: { object: KubeObject | undefined }): Pod["spec"] =>
  (result.object as Pod).spec;

describe("NamespaceLifecycle", () => {
  const objects = new MemoryObjects();
  objects.put(namespaceKind, { metadata: { name: "ns" }, spec: {}, status: { phase: "Active" } });
  objects.put(namespaceKind, {
    metadata: { name: "end" },
    spec: {},
    status: { phase: "Terminating" },
  });
  const message = async (changes: Loose, kind = podKind as never, subject = pod()) =>
    (await admitWith(namespaceLifecycle, kind, subject, { objects, ...changes })).status?.message;

  test("lets objects into a namespace that is there", async () => {
    assert.equal(await message({}), undefined);
  });
  test("refuses those of a namespace that is not", async () => {
    assert.equal(await message({ namespace: "x" }), 'namespaces "x" not found');
  });
  test("lets nothing new into one that goes away, but lets the rest be changed", async () => {
    assert.equal(
      await message({ namespace: "end" }),
      'pods "p" is forbidden: unable to create new content in namespace end because it is being terminated',
    );
    assert.equal(await message({ namespace: "end", operation: "UPDATE" }), undefined);
  });
  test("keeps the namespaces of the system", async () => {
    const kind = namespaceKind as never;
    const deletion = { operation: "DELETE", name: "kube-system", namespace: "kube-system" };
    assert.equal(
      await message(deletion, kind),
      'namespaces "kube-system" is forbidden: this namespace may not be deleted',
    );
  });
});

describe("ServiceAccount", () => {
  const plugin = serviceAccount({ clock: new VirtualClock(0), random: seededRandom(1) });
  const withAccount = (fields: Loose = {}): MemoryObjects => {
    const objects = new MemoryObjects();
    objects.put(serviceAccountKind, object("default", fields));
    return objects;
  };

  test("gives pods the default account, its token and its pull secrets", async () => {
    const objects = withAccount({ imagePullSecrets: [{ name: "pull" }] });
    const result = await admitWith(plugin, podKind, pod(), { objects });
    const spec = specOf(result);
    assert.equal(result.status, undefined);
    assert.equal(spec.serviceAccountName, "default");
    assert.deepEqual(spec.imagePullSecrets, [{ name: "pull" }]);
    const [volume] = spec.volumes!;
    assert.match(volume!.name, /^kube-api-access-.{5}$/);
    assert.deepEqual(spec.containers![0]!.volumeMounts, [
      {
        name: volume!.name,
        readOnly: true,
        mountPath: "/var/run/secrets/kubernetes.io/serviceaccount",
      },
    ]);
    assert.equal(volume!.projected!.sources![0]!.serviceAccountToken!.expirationSeconds, 3607);
  });

  test("mounts no token where pod or account do not want it", async () => {
    const noToken = { automountServiceAccountToken: false };
    for (const [spec, fields] of [
      [noToken, {}],
      [{}, noToken],
    ]) {
      const result = await admitWith(plugin, podKind, pod(spec), { objects: withAccount(fields) });
      assert.equal(specOf(result).volumes, undefined);
    }
  });

  test("refuses an account that is not there", async () => {
    const { status } = await admitWith(plugin, podKind, pod({ serviceAccountName: "x" }));
    assert.equal(
      status?.message,
      'pods "p" is forbidden: error looking up service account ns/x: serviceaccount "x" not found',
    );
  });

  test("waits a second for the default account", async () => {
    const clock = new VirtualClock(0);
    const waiting = serviceAccount({ clock, random: seededRandom(1) });
    const objects = new MemoryObjects();
    const late = admitWith(waiting, podKind, pod(), { objects });
    objects.put(serviceAccountKind, object("default"));
    assert.equal((await late).status, undefined);
    const never = admitWith(waiting, podKind, pod());
    await clock.advance(1000);
    assert.match((await never).status?.message ?? "", /serviceaccount "default" not found/);
    assert.equal(clock.pendingTimers, 0);
  });

  test("a mirror pod refers to nothing", async () => {
    const mirror = { annotations: { "kubernetes.io/config.mirror": "x" } };
    const named = await admitWith(plugin, podKind, pod({ serviceAccountName: "default" }, mirror));
    assert.match(named.status?.message ?? "", /a mirror pod may not reference service accounts/);
    const secret = { volumes: [{ name: "v", secret: { secretName: "s" } }] };
    const withSecret = await admitWith(plugin, podKind, pod(secret, mirror));
    assert.match(withSecret.status?.message ?? "", /a mirror pod may not reference secrets/);
    assert.equal((await admitWith(plugin, podKind, pod({}, mirror))).status, undefined);
  });

  test("an account may allow only the secrets that it lists", async () => {
    const objects = new MemoryObjects();
    const enforce = { annotations: { "kubernetes.io/enforce-mountable-secrets": "true" } };
    objects.put(serviceAccountKind, object("default", { secrets: [{ name: "ok" }] }, enforce));
    const from = (name: string) => ({
      containers: [{ name: "c", envFrom: [{ secretRef: { name } }] }],
    });
    assert.equal(
      (await admitWith(plugin, podKind, pod(from("ok")), { objects })).status,
      undefined,
    );
    const { status } = await admitWith(plugin, podKind, pod(from("x")), { objects });
    assert.equal(
      status?.message,
      'pods "p" is forbidden: container c with envFrom referencing secret.secretName="x" is not ' +
        "allowed because service account default does not reference that secret",
    );
  });
});

describe("Priority", () => {
  const objects = new MemoryObjects();
  objects.put(
    priorityClassKind,
    object("high", { value: 10, preemptionPolicy: "Never" }, { namespace: "" }),
  );
  const admit = (spec: Loose, changes: Loose = {}) =>
    admitWith(priority, podKind, pod(spec), { objects, ...changes });

  test("no class means zero", async () => {
    const { priority: value, preemptionPolicy } = specOf(await admit({}));
    assert.deepEqual([value, preemptionPolicy], [0, "PreemptLowerPriority"]);
  });
  test("a class means its value", async () => {
    const spec = specOf(await admit({ priorityClassName: "high" }));
    assert.deepEqual([spec.priority, spec.preemptionPolicy], [10, "Never"]);
  });
  test("numbers are not for users", async () => {
    assert.equal(
      (await admit({ priorityClassName: "high", priority: 5 })).status?.message,
      'pods "p" is forbidden: the integer value of priority (5) must not be provided in pod spec; ' +
        "priority admission controller computed 10 from the given PriorityClass name",
    );
  });
  test("a class that is not there", async () => {
    assert.equal(
      (await admit({ priorityClassName: "x" })).status?.message,
      'pods "p" is forbidden: no PriorityClass with name x was found',
    );
  });
  test("old clients do not lose the number", async () => {
    assert.equal(specOf(await admit({}, { old: pod({ priority: 7 }) })).priority, 7);
  });
  test("there is one default class at most", async () => {
    const two = new MemoryObjects();
    two.put(priorityClassKind, object("a", { value: 1, globalDefault: true }));
    const second = object("b", { value: 2, globalDefault: true });
    const { status } = await admitWith(priority, priorityClassKind, second, { objects: two });
    assert.equal(
      status?.message,
      'priorityclasses.scheduling.k8s.io "b" is forbidden: PriorityClass a is already marked as ' +
        "default. Only one default can exist",
    );
  });
});

describe("small defaults", () => {
  test("new nodes are not ready", async () => {
    const result = await admitWith(taintNodesByCondition, nodeKind, object("n", { spec: {} }));
    assert.deepEqual((result.object as unknown as { spec: Loose }).spec.taints, [
      { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" },
    ]);
  });

  test("pods tolerate lost nodes for five minutes, unless they say so themselves", async () => {
    const plugin = defaultTolerationSeconds({ notReady: 300, unreachable: 60 });
    const keys = async (tolerations: Loose[]) =>
      specOf(await admitWith(plugin, podKind, pod({ tolerations }))).tolerations!.map(
        ({ key, tolerationSeconds }) => `${key ?? "*"} ${tolerationSeconds ?? "-"}`,
      );
    assert.deepEqual(await keys([]), [
      "node.kubernetes.io/not-ready 300",
      "node.kubernetes.io/unreachable 60",
    ]);
    assert.deepEqual(await keys([{ operator: "Exists" }]), ["* -"]);
    assert.deepEqual(await keys([{ key: "node.kubernetes.io/not-ready", operator: "Exists" }]), [
      "node.kubernetes.io/not-ready -",
      "node.kubernetes.io/unreachable 60",
    ]);
  });

  test("claims and ingresses get the newest default class", async () => {
    const objects = new MemoryObjects();
    const marked = (key: string, creationTimestamp: string) => ({
      annotations: { [`${key}.kubernetes.io/is-default-class`]: "true" },
      creationTimestamp,
    });
    for (const [name, time] of [
      ["old", "2030-01-01T00:00:00Z"],
      ["new", "2030-01-02T00:00:00Z"],
    ] as const) {
      objects.put(storageClassKind, object(name, {}, marked("storageclass", time)));
      objects.put(ingressClassKind, object(name, {}, marked("ingressclass", time)));
    }
    const claim = await admitWith(
      defaultStorageClass,
      persistentVolumeClaimKind,
      object("c", { spec: {} }),
      { objects },
    );
    const ingress = await admitWith(defaultIngressClass, ingressKind, object("i", { spec: {} }), {
      objects,
    });
    assert.equal((claim.object as unknown as { spec: Loose }).spec.storageClassName, "new");
    assert.equal((ingress.object as unknown as { spec: Loose }).spec.ingressClassName, "new");
    const own = object("c", { spec: { storageClassName: "" } });
    const kept = await admitWith(defaultStorageClass, persistentVolumeClaimKind, own, { objects });
    assert.equal((kept.object as unknown as { spec: Loose }).spec.storageClassName, "");
  });

  test("volumes and claims are protected", async () => {
    for (const [kind, finalizer] of [
      [persistentVolumeKind, "kubernetes.io/pv-protection"],
      [persistentVolumeClaimKind, "kubernetes.io/pvc-protection"],
    ] as const) {
      const result = await admitWith(storageObjectInUseProtection, kind as never, object("x"));
      assert.deepEqual(result.object?.metadata.finalizers, [finalizer]);
    }
  });

  test("pods carry the zone of their node", async () => {
    const objects = new MemoryObjects();
    const labels = { "topology.kubernetes.io/zone": "z", other: "x" };
    objects.put(nodeKind, { metadata: { name: "n", labels } } as never);
    const result = await admitWith(podTopologyLabels, podKind, pod({ nodeName: "n" }), { objects });
    assert.deepEqual(result.object?.metadata.labels, { "topology.kubernetes.io/zone": "z" });
    const target = { kind: "Node", name: "n" };
    const binding = await admitWith(podTopologyLabels, podKind, object("p", { target }), {
      objects,
      subresource: "binding",
    });
    assert.deepEqual(binding.object?.metadata.labels, { "topology.kubernetes.io/zone": "z" });
  });
});

describe("PersistentVolumeClaimResize", () => {
  const claim = (storage: string, phase = "Bound", storageClassName = "s"): never =>
    object("c", {
      spec: { storageClassName, resources: { requests: { storage } } },
      status: { phase },
    });
  const objects = new MemoryObjects();
  objects.put(storageClassKind, object("s", { allowVolumeExpansion: true }, { namespace: "" }));
  const message = async (next: never, old: never) =>
    (
      await admitWith(persistentVolumeClaimResize, persistentVolumeClaimKind, next, {
        objects,
        old,
      })
    ).status?.message;

  test("bound claims of a class that allows it grow", async () => {
    assert.equal(await message(claim("2Gi"), claim("1Gi")), undefined);
  });
  test("others do not", async () => {
    assert.match(
      (await message(claim("2Gi"), claim("1Gi", "Pending"))) ?? "",
      /Only bound persistent volume claims can be expanded/,
    );
    assert.match(
      (await message(claim("2Gi", "Bound", "x"), claim("1Gi", "Bound", "x"))) ?? "",
      /the storageclass that provisions the pvc must support resize/,
    );
  });
});

describe("RuntimeClass", () => {
  const objects = new MemoryObjects();
  objects.put(
    runtimeClassKind,
    object(
      "vm",
      {
        handler: "h",
        overhead: { podFixed: { memory: "64Mi" } },
        scheduling: {
          nodeSelector: { kvm: "yes" },
          tolerations: [{ key: "kvm", operator: "Exists" }],
        },
      },
      { namespace: "" },
    ),
  );
  const admit = (spec: Loose) => admitWith(runtimeClass, podKind, pod(spec), { objects });

  test("adds overhead and scheduling", async () => {
    const spec = specOf(await admit({ runtimeClassName: "vm", nodeSelector: { a: "b" } }));
    assert.deepEqual(spec.overhead, { memory: "64Mi" });
    assert.deepEqual(spec.nodeSelector, { a: "b", kvm: "yes" });
    assert.deepEqual(spec.tolerations, [{ key: "kvm", operator: "Exists" }]);
  });
  const refusals: [string, Loose, string][] = [
    ["no such class", { runtimeClassName: "x" }, 'pod rejected: RuntimeClass "x" not found'],
    [
      "another overhead",
      { runtimeClassName: "vm", overhead: { memory: "1Mi" } },
      "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
    ],
    [
      "overhead without a class",
      { overhead: { memory: "1Mi" } },
      "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
    ],
    [
      "another node",
      { runtimeClassName: "vm", nodeSelector: { kvm: "no" } },
      "conflict: runtimeClass.scheduling.nodeSelector[kvm] = yes; pod.spec.nodeSelector[kvm] = no",
    ],
  ];
  for (const [name, spec, why] of refusals) {
    test(`refuses ${name}`, async () => {
      assert.equal((await admit(spec)).status?.message, `pods "p" is forbidden: ${why}`);
    });
  }
});

describe("LimitRanger", () => {
  const world = (...limits: Loose[]): MemoryObjects => {
    const objects = new MemoryObjects();
    objects.put(limitRangeKind, object("l", { spec: { limits } }));
    return objects;
  };
  const admit = (resources: Loose | undefined, ...limits: Loose[]) =>
    admitWith(limitRanger, podKind, pod({ containers: [{ name: "c", resources }] }), {
      objects: world(...limits),
    });

  test("fills in what containers do not say, and says so", async () => {
    const result = await admit(
      { requests: { cpu: "200m" } },
      {
        type: "Container",
        default: { cpu: "500m", memory: "128Mi" },
        defaultRequest: { cpu: "100m" },
      },
    );
    assert.deepEqual(specOf(result).containers![0]!.resources, {
      requests: { cpu: "200m" },
      limits: { cpu: "500m", memory: "128Mi" },
    });
    assert.deepEqual(result.object?.metadata.annotations, {
      "kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu, memory limit for container c",
    });
  });

  const container = { type: "Container" };
  const cases: { name: string; resources: Loose; limits: Loose[]; why: string }[] = [
    {
      name: "too little",
      resources: { requests: { cpu: "50m" } },
      limits: [{ ...container, min: { cpu: "100m" } }],
      why: "minimum cpu usage per Container is 100m, but request is 50m",
    },
    {
      name: "nothing said",
      resources: {},
      limits: [{ ...container, min: { memory: "1Mi" } }],
      why: "minimum memory usage per Container is 1Mi.  No request is specified",
    },
    {
      name: "too much, for the container and for the pod",
      resources: { requests: { cpu: "2" }, limits: { cpu: "2" } },
      limits: [
        { ...container, max: { cpu: "1" } },
        { type: "Pod", max: { cpu: "1500m" } },
      ],
      why:
        "[maximum cpu usage per Container is 1, but limit is 2, maximum cpu usage per Pod is 1500m, " +
        "but limit is 2]",
    },
    {
      name: "too wide",
      resources: { requests: { cpu: "200m" }, limits: { cpu: "900m" } },
      limits: [{ ...container, maxLimitRequestRatio: { cpu: "2" } }],
      why: "cpu max limit to request ratio per Container is 2, but provided ratio is 4.500000",
    },
  ];
  for (const { name, resources, limits, why } of cases) {
    test(`refuses ${name}`, async () => {
      const { status } = await admit(resources, ...limits);
      assert.equal(status?.message, `pods "p" is forbidden: ${why}`);
    });
  }

  test("claims have bounds too", async () => {
    const objects = world({ type: "PersistentVolumeClaim", max: { storage: "2Gi" } });
    const claim = object("c", { spec: { resources: { requests: { storage: "5Gi" } } } });
    const { status } = await admitWith(limitRanger, persistentVolumeClaimKind, claim, { objects });
    assert.equal(
      status?.message,
      'persistentvolumeclaims "c" is forbidden: maximum storage usage per PersistentVolumeClaim is ' +
        "2Gi, but request is 5Gi",
    );
  });
});

test("a pod does not grow beyond its node", async () => {
  const objects = new MemoryObjects();
  const node = {
    metadata: { name: "n" },
    spec: {},
    status: { allocatable: { cpu: "2", memory: "1Gi" } },
  };
  objects.put(nodeKind, node as never);
  const sized = (cpu: string, generation: number): never =>
    pod(
      { nodeName: "n", containers: [{ name: "c", resources: { requests: { cpu } } }] },
      { generation },
    );
  const resize = (cpu: string) =>
    admitWith(podResizeValidator, podKind, sized(cpu, 2), {
      objects,
      old: sized("1", 1),
      subresource: "resize",
    });
  assert.equal((await resize("2")).status, undefined);
  const { status } = await resize("3");
  assert.equal(
    status?.message,
    'pods "p" is forbidden: node didn\'t have enough allocatable resources: cpu, requested: 3000, ' +
      "allocatable: 2000",
  );
});

describe("the registry", () => {
  const dependencies = {
    authorizer: alwaysAllow,
    clock: new VirtualClock(0),
    random: seededRandom(1),
    tolerationSeconds: { notReady: 300, unreachable: 300 },
    mutating: [{ name: "MutatingAdmissionWebhook" }],
    validating: [{ name: "ValidatingAdmissionWebhook" }],
  };
  const names = (choice: { enable?: string[]; disable?: string[] }) =>
    admissionPlugins(dependencies, { enable: [], disable: [], ...choice }).map(({ name }) => name);

  test("webhooks come after the built-in plug-ins, and quota comes last", () => {
    assert.deepEqual(names({}).slice(-3), [
      "MutatingAdmissionWebhook",
      "ValidatingAdmissionWebhook",
      "ResourceQuota",
    ]);
  });
  test("plug-ins can be turned off and on", () => {
    assert.ok(!names({ disable: ["Priority"] }).includes("Priority"));
    assert.ok(!names({}).includes("AlwaysPullImages"));
    assert.ok(names({ enable: ["AlwaysPullImages"] }).includes("AlwaysPullImages"));
    names({ enable: ["PodGroupProtection", "ValidatingAdmissionWebhook"] });
  });
  test("a name that is none stops the start", () => {
    assert.throws(
      () => names({ disable: ["Nonsense"] }),
      /admission-control plugin "Nonsense" is unknown/,
    );
  });
});
