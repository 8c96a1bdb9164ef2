import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { podOf, runPod } from "#api/testing/run-pod.ts";

type Fields = Record<string, unknown>;

const CHANGEABLE =
  "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
const TERMS =
  "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";

function update(old: Fields, next: Fields, subresource?: string) {
  const write = { old: podOf(old), ...(subresource && { subresource }) };
  return runPod(next, {}, write);
}

const term = (...keys: string[]) => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: keys.map((key) => ({ key, operator: "Exists" })) }],
      },
    },
  },
});
const gated = { schedulingGates: [{ name: "g" }] };

describe("updates of pods", () => {
  const cases: readonly { name: string; old?: Fields; next: Fields; want: readonly string[] }[] = [
    { name: "an update that changes nothing is accepted", next: {}, want: [] },
    {
      name: "the image of a container may change",
      next: { containers: [{ name: "c", image: "j:1", imagePullPolicy: "Always" }] },
      want: [],
    },
    {
      name: "a quantity in another notation is no change",
      old: { containers: [{ name: "c", image: "i", resources: { limits: { memory: "1Gi" } } }] },
      next: {
        containers: [{ name: "c", image: "i", resources: { limits: { memory: "1073741824" } } }],
      },
      want: [],
    },
    {
      name: "containers may not be added",
      next: {
        containers: [
          { name: "c", image: "i" },
          { name: "d", image: "i" },
        ],
      },
      want: ["spec.containers: Forbidden: pod updates may not add or remove containers"],
    },
    { name: "activeDeadlineSeconds may be set", next: { activeDeadlineSeconds: 5 }, want: [] },
    {
      name: "activeDeadlineSeconds may be lowered",
      old: { activeDeadlineSeconds: 5 },
      next: { activeDeadlineSeconds: 4 },
      want: [],
    },
    {
      name: "activeDeadlineSeconds may not be raised",
      old: { activeDeadlineSeconds: 5 },
      next: { activeDeadlineSeconds: 6 },
      want: [
        "spec.activeDeadlineSeconds: Invalid value: 6: must be less than or equal to previous value",
      ],
    },
    {
      name: "a toleration that goes on longer",
      old: {
        tolerations: [{ key: "a", operator: "Exists", effect: "NoExecute", tolerationSeconds: 1 }],
      },
      next: {
        tolerations: [
          { key: "b", operator: "Exists" },
          { key: "a", operator: "Exists", effect: "NoExecute", tolerationSeconds: 9 },
        ],
      },
      want: [],
    },
    {
      name: "a toleration that is gone",
      old: { tolerations: [{ key: "a", operator: "Exists" }] },
      next: {},
      want: [
        "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds",
      ],
    },
    {
      name: "schedulingGates may not be added",
      old: gated,
      next: { schedulingGates: [{ name: "g" }, { name: "h" }] },
      want: [
        "spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling gate 'h'",
      ],
    },
    { name: "schedulingGates may be removed", old: gated, next: {}, want: [] },
    {
      name: "nodeSelector and nodeAffinity of a gated pod may be narrowed",
      old: { ...gated, nodeSelector: { a: "1" }, ...term("x") },
      next: { ...gated, nodeSelector: { a: "1", b: "2" }, ...term("x", "y") },
      want: [],
    },
    {
      name: "nodeSelector and nodeAffinity of a gated pod may not be widened",
      old: { ...gated, nodeSelector: { a: "1" }, ...term("x", "y") },
      next: { ...gated, ...term("x") },
      want: [
        "spec.nodeSelector: Invalid value: null: only additions to spec.nodeSelector are allowed (no mutations or deletions)",
        `${TERMS}[0]: Invalid value: {"MatchExpressions":[{"Key":"x","Operator":"Exists","Values":null}],"MatchFields":null}: only additions are allowed (no mutations or deletions)`,
      ],
    },
    {
      name: "no affinity at all any more",
      old: { ...gated, ...term("x") },
      next: gated,
      want: [
        `${TERMS}: Invalid value: null: no additions/deletions to non-empty NodeSelectorTerms list are allowed`,
      ],
    },
  ];
  for (const { name, old = {}, next, want } of cases) {
    test(name, () => assert.deepEqual(update(old, next).faults, want));
  }

  test("a change of any other field is refused with its difference", () => {
    assert.deepEqual(update({}, { hostname: "h" }).faults, [
      `${CHANGEABLE}\n@@ -64,7 +64,7 @@\n   "SELinuxChangePolicy": null\n  },\n  "ImagePullSecrets": null,\n- "Hostname": "",\n+ "Hostname": "h",\n  "Subdomain": "",\n  "SetHostnameAsFQDN": null,\n  "Affinity": null,\n`,
    ]);
  });

  test("the generation counts changes of the spec", () => {
    const old = { old: podOf({}, { generation: 4 }) };
    const generation = (spec: Fields, metadata: Fields = {}) =>
      runPod(spec, { generation: 4, ...metadata }, old).object.metadata.generation;
    assert.equal(generation({}, { labels: { a: "b" } }), 4);
    assert.equal(generation({ activeDeadlineSeconds: 1 }), 5);
  });

  test("marks of mirrors and profiles stay", () => {
    const appArmor = "container.apparmor.security.beta.kubernetes.io/c";
    const old = podOf({ nodeName: "n" }, { annotations: { "kubernetes.io/config.mirror": "m" } });
    const next = { annotations: { [appArmor]: "unconfined" } };
    assert.deepEqual(runPod({ nodeName: "n" }, next, { old }).faults, [
      "metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not remove or update mirror pod annotation",
      `metadata.annotations[${appArmor}]: Forbidden: may not add AppArmor annotations`,
    ]);
  });
});

describe("ephemeral containers", () => {
  const first = { name: "e", image: "i", command: ["a"] };
  const debug = (...ephemeralContainers: Fields[]) => ({ ephemeralContainers });
  const run = (old: Fields, next: Fields) => update(old, next, "ephemeralcontainers");

  test("are added, and nothing else changes", () => {
    const { object, faults } = run({}, { ...debug(first), hostname: "h" });
    const { spec } = object;
    assert.deepEqual(faults, []);
    assert.equal(spec.hostname, undefined);
    assert.equal(spec.ephemeralContainers?.[0]?.name, "e");
  });

  test("are not removed or changed", () => {
    assert.deepEqual(run(debug(first), {}).faults, [
      'spec.ephemeralContainers: Forbidden: existing ephemeral containers "e" may not be removed\n',
    ]);
    const [fault] = run(debug(first), debug({ ...first, command: ["b"] })).faults;
    assert.match(fault!, /"e" may not be changed\n@@ -2,7 \+2,7 @@\n[\s\S]*- {2}"a"\n\+ {2}"b"\n/);
  });

  test("cannot set ports, resources, lifecycle or an unknown targetContainerName", () => {
    const faults = run(
      {},
      debug({
        ...first,
        name: "c",
        targetContainerName: "x",
        ports: [{ containerPort: 1 }],
        resources: { limits: { cpu: "1" } },
        lifecycle: { preStop: { sleep: { seconds: 1 } } },
      }),
    ).faults;
    assert.deepEqual(faults, [
      'spec.ephemeralContainers[0].name: Duplicate value: "c"',
      'spec.ephemeralContainers[0].targetContainerName: Not found: "x"',
      "spec.ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container",
      "spec.ephemeralContainers[0].resources: Forbidden: cannot be set for an Ephemeral Container",
      "spec.ephemeralContainers[0].lifecycle: Forbidden: cannot be set for an Ephemeral Container",
    ]);
  });
});

describe("update: resizing", () => {
  const sized = (resources: Fields, more: Fields = {}) => ({
    containers: [{ name: "c", image: "i", resources }],
    ...more,
  });
  const run = (old: Fields, next: Fields) => update(old, next, "resize");
  const small = { requests: { cpu: "1" } };

  test("changes cpu and memory only", () => {
    const { object, faults } = run(sized(small), {
      ...sized({ requests: { cpu: "2" } }),
      hostname: "h",
    });
    const { spec } = object;
    assert.deepEqual(faults, []);
    assert.equal(spec.hostname, undefined);
    assert.deepEqual(spec.containers?.[0]?.resources, { requests: { cpu: "2" } });
  });

  const cases: readonly { name: string; old: Fields; next: Fields; want: readonly string[] }[] = [
    {
      name: "a resize may not remove requests",
      old: sized({ requests: { cpu: "1", memory: "1Gi" } }),
      next: sized(small),
      want: [
        "spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed",
      ],
    },
    {
      name: "a resize may not change the qosClass",
      old: sized({}),
      next: sized(small),
      want: ['spec: Invalid value: "": Pod QOS Class may not change as a result of resizing'],
    },
    {
      name: "a resize may only change cpu and memory",
      old: sized({ requests: { cpu: "1", "ephemeral-storage": "1Gi" } }),
      next: sized({ requests: { cpu: "1", "ephemeral-storage": "2Gi" } }),
      want: ["spec: Forbidden: only cpu and memory resources are mutable"],
    },
    {
      name: "a resize may not rename containers",
      old: sized(small),
      next: { containers: [{ name: "d", image: "i", resources: small }] },
      want: [
        "spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize",
      ],
    },
    {
      name: "keeps the resources of the pod",
      old: sized(small, { resources: { requests: { cpu: "1" } } }),
      next: sized(small),
      want: ["spec.resources: Forbidden: pod-level resources cannot be removed"],
    },
    {
      name: "a Windows pod cannot be resized",
      old: sized(small, { os: { name: "windows" } }),
      next: sized(small, { os: { name: "windows" } }),
      want: [": Forbidden: windows pods cannot be resized"],
    },
  ];
  for (const { name, old, next, want } of cases) {
    test(name, () => assert.deepEqual(run(old, next).faults, want));
  }
});
