import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Namespace, Pod } from "#api/generated/core.v1.ts";
import { deploymentKind } from "#api/kinds/apps/v1/deployment.ts";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { admitWith, looseObject } from "#testing/admission.ts";
import { completed } from "#testing/build.ts";
import { MemoryObjects } from "#testing/memory-objects.ts";
import { violationsOf, violationsText } from "./evaluate.ts";
import { podSecurity } from "./pod-security.ts";

type Spec = Partial<Pod["spec"]>;
const container = (securityContext?: object, more: object = {}) =>
  ({ name: "c", image: "i", ...(securityContext ? { securityContext } : {}), ...more }) as never;
const pod = (spec: Spec = {}, annotations?: Record<string, string>): Pod =>
  looseObject(
    "p",
    { spec: { containers: [container()], ...spec } },
    { ...(annotations && { annotations }) },
  );
const SAFE = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ["ALL"] },
  runAsNonRoot: true,
  seccompProfile: { type: "RuntimeDefault" },
};

const cases: {
  name: string;
  level: "baseline" | "restricted";
  version?: number;
  pod: Pod;
  text: string;
}[] = [
  { name: "a plain pod is fine for the baseline", level: "baseline", pod: pod(), text: "" },
  {
    name: "a plain pod is not restricted",
    level: "restricted",
    pod: pod(),
    text:
      'allowPrivilegeEscalation != false (container "c" must set ' +
      'securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "c" ' +
      'must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container ' +
      '"c" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container "c" must ' +
      'set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
  },
  {
    name: "a safe pod is",
    level: "restricted",
    pod: pod({ containers: [container(SAFE)] }),
    text: "",
  },
  {
    name: "early versions asked for less",
    level: "restricted",
    version: 7,
    pod: pod(),
    text: 'runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true)',
  },
  {
    name: "namespaces, paths and ports of the host",
    level: "baseline",
    pod: pod({
      hostNetwork: true,
      hostPID: true,
      volumes: [{ name: "v", hostPath: { path: "/" } }],
      containers: [container(undefined, { ports: [{ containerPort: 1, hostPort: 80 }] })],
    }),
    text:
      'host namespaces (hostNetwork=true, hostPID=true), hostPath volumes (volume "v"), ' +
      'hostPort (container "c" uses hostPort 80)',
  },
  {
    name: "restricted volumes stand for host paths",
    level: "restricted",
    pod: pod({
      volumes: [
        { name: "v", hostPath: { path: "/" } },
        { name: "w", nfs: { server: "s", path: "p" } },
      ],
      containers: [container(SAFE)],
    }),
    text: 'restricted volume types (volumes "v", "w" use restricted volume types "hostPath", "nfs")',
  },
  {
    name: "capabilities, privilege and masks",
    level: "baseline",
    pod: pod({
      containers: [
        container({
          privileged: true,
          capabilities: { add: ["SYS_ADMIN", "CHOWN", "NET_RAW"] },
          procMount: "Unmasked",
        }),
      ],
    }),
    text:
      'non-default capabilities (container "c" must not include "NET_RAW", "SYS_ADMIN" in ' +
      'securityContext.capabilities.add), privileged (container "c" must not set ' +
      'securityContext.privileged=true), procMount (container "c" must not set ' +
      'securityContext.procMount to "Unmasked")',
  },
  {
    name: "profiles of pod and container, and annotations",
    level: "baseline",
    pod: pod(
      {
        securityContext: {
          seccompProfile: { type: "Unconfined" },
          appArmorProfile: { type: "Unconfined" },
          seLinuxOptions: { type: "spc_t", user: "u" },
          sysctls: [{ name: "kernel.msgmax", value: "1" }],
        },
      },
      { "container.apparmor.security.beta.kubernetes.io/c": "unconfined" },
    ),
    text:
      "forbidden AppArmor profiles (pod and annotation must not set AppArmor profile type to " +
      '"Unconfined", "container.apparmor.security.beta.kubernetes.io/c="unconfined""), ' +
      "seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: " +
      'type "spc_t"; user may not be set), seccompProfile (pod must not set ' +
      'securityContext.seccompProfile.type to "Unconfined"), forbidden sysctls (kernel.msgmax)',
  },
  {
    name: "a host in a probe violates baseline since v1.34",
    level: "baseline",
    pod: pod({
      containers: [container(undefined, { livenessProbe: { httpGet: { host: "h", port: 1 } } })],
    }),
    text: 'probe or lifecycle host (container "c" uses probe or lifecycle host "h")',
  },
  {
    name: "a host in a probe is allowed before v1.34",
    level: "baseline",
    version: 33,
    pod: pod({
      containers: [container(undefined, { livenessProbe: { httpGet: { host: "h", port: 1 } } })],
    }),
    text: "",
  },
  {
    name: "Windows pods need not set what Windows does not know",
    level: "restricted",
    pod: pod({ os: { name: "windows" }, securityContext: { runAsNonRoot: true } }),
    text: "",
  },
  {
    name: "root in a user namespace is allowed",
    level: "restricted",
    pod: pod({
      hostUsers: false,
      containers: [container({ ...SAFE, runAsNonRoot: false, runAsUser: 0 })],
    }),
    text: "",
  },
  {
    name: "root anywhere else is not",
    level: "restricted",
    pod: pod({ containers: [container({ ...SAFE, runAsUser: 0 })] }),
    text: 'runAsUser=0 (container "c" must not set runAsUser=0)',
  },
];

describe("PodSecurity: rules", () => {
  for (const { name, level, version, pod: judged, text } of cases) {
    test(name, () => {
      const violations = violationsOf(judged, { level, version: version ?? "latest" });
      assert.equal(violationsText(violations), text);
    });
  }
});

const PREFIX = "pod-security.kubernetes.io/";
const namespace = (labels: Record<string, string>): Namespace =>
  completed(namespaceKind, {
    metadata: {
      name: "ns",
      labels: Object.fromEntries(Object.entries(labels).map(([key, v]) => [PREFIX + key, v])),
    },
  });

const ENFORCED = "pod-security.kubernetes.io/enforce-policy";

describe("PodSecurity: the configuration", () => {
  const head = {
    apiVersion: "pod-security.admission.config.k8s.io/v1",
    kind: "PodSecurityConfiguration",
  };
  const config = {
    ...head,
    defaults: { enforce: "baseline", "enforce-version": "v1.30" },
    exemptions: { usernames: ["boss"], namespaces: ["free"], runtimeClasses: ["vm"] },
  };
  const rows = [
    {
      name: "the defaults of the configuration are enforced",
      more: {},
      spec: {},
      want: "baseline:v1.30",
    },
    {
      name: "exempt users are not checked",
      more: { user: { name: "boss", groups: [] } },
      spec: {},
      want: "user",
    },
    {
      name: "exempt namespaces are not checked",
      more: { namespace: "free" },
      spec: {},
      want: "namespace",
    },
    {
      name: "exempt runtime classes are not checked",
      more: {},
      spec: { runtimeClassName: "vm" },
      want: "runtimeClass",
    },
  ];
  for (const { name, more, spec, want } of rows) {
    test(name, async () => {
      const objects = new MemoryObjects();
      objects.put(namespaceKind, { metadata: { name: "ns" } } as never);
      const given = pod({ hostNetwork: true, ...spec });
      const options = { objects, namespace: "ns", ...more };
      const { status, annotations } = await admitWith(podSecurity(config), podKind, given, options);
      assert.equal(status === undefined, want !== "baseline:v1.30");
      assert.equal(annotations["pod-security.kubernetes.io/exempt"] ?? annotations[ENFORCED], want);
    });
  }
  test("an unknown field of the configuration stops the start", () => {
    assert.throws(() => podSecurity({ ...head, default: {} }), /unknown field "default"/);
  });
  test("an unknown Pod Security level stops the start", () => {
    assert.throws(
      () => podSecurity({ ...head, defaults: { warn: "x" } }),
      /PodSecurity configuration error: warn: must be one of privileged, baseline, restricted/,
    );
  });
});

describe("pods", () => {
  async function create(labels: Record<string, string>, changes = {}) {
    const objects = new MemoryObjects();
    objects.put(namespaceKind, namespace(labels));
    return admitWith(podSecurity(), podKind, pod({ hostNetwork: true }), { objects, ...changes });
  }

  test("a namespace without labels allows all pods", async () => {
    const { status, warnings, annotations } = await create({});
    assert.deepEqual(
      [status, warnings, annotations],
      [undefined, [], { [ENFORCED]: "privileged:latest" }],
    );
  });

  test("enforce: a violation is refused with 403", async () => {
    const { status, warnings, annotations } = await create({
      enforce: "baseline",
      "enforce-version": "v1.24",
    });
    assert.equal(
      status?.message,
      'pods "p" is forbidden: violates PodSecurity "baseline:v1.24": host namespaces (hostNetwork=true)',
    );
    assert.deepEqual(warnings, []);
    assert.deepEqual(annotations, { [`${PREFIX}enforce-policy`]: "baseline:v1.24" });
  });

  test("warning warns, auditing notes", async () => {
    const { status, warnings, annotations } = await create({ warn: "baseline", audit: "baseline" });
    const text = 'would violate PodSecurity "baseline:latest": host namespaces (hostNetwork=true)';
    assert.equal(status, undefined);
    assert.deepEqual(warnings, [text]);
    assert.equal(annotations[`${PREFIX}audit-violations`], text);
  });

  test("an invalid label value enforces restricted", async () => {
    const { status } = await create({ enforce: "nonsense" });
    assert.match(status?.message ?? "", /violates PodSecurity "restricted:latest"/);
  });

  test("an update that changes no image is not checked again", async () => {
    const old = pod({ hostNetwork: true });
    assert.equal((await create({ enforce: "baseline" }, { old })).status, undefined);
  });
});

describe("controllers", () => {
  test("are let in with a warning when their pods would be refused", async () => {
    const objects = new MemoryObjects();
    objects.put(namespaceKind, namespace({ enforce: "baseline" }));
    const template = pod({ hostPID: true });
    const deployment = { metadata: { name: "d", namespace: "ns" }, spec: { template } };
    const { status, warnings } = await admitWith(podSecurity(), deploymentKind, deployment, {
      objects,
    });
    assert.equal(status, undefined);
    assert.deepEqual(warnings, [
      'would violate PodSecurity "baseline:latest": host namespaces (hostPID=true)',
    ]);
  });
});

describe("namespaces", () => {
  test("labels must be readable", async () => {
    const labels = { enforce: "strict", "warn-version": "1.20" };
    const { status } = await admitWith(podSecurity(), namespaceKind, namespace(labels));
    assert.equal(
      status?.message,
      'Namespace "ns" is invalid: [metadata.labels[pod-security.kubernetes.io/enforce]: Invalid ' +
        'value: "strict": must be one of privileged, baseline, restricted, ' +
        'metadata.labels[pod-security.kubernetes.io/warn-version]: Invalid value: "1.20": must be ' +
        '"latest" or "v1.x"]',
    );
  });

  test("a stricter enforce label on a namespace warns about existing pods", async () => {
    const objects = new MemoryObjects();
    for (const name of ["b", "a", "c"]) {
      const one = pod({ hostIPC: true });
      objects.put(podKind, { ...one, metadata: { ...one.metadata, name } });
    }
    const { status, warnings } = await admitWith(
      podSecurity(),
      namespaceKind,
      namespace({ enforce: "baseline" }),
      { objects, old: namespace({}) },
    );
    assert.equal(status, undefined);
    assert.deepEqual(warnings, [
      'existing pods in namespace "ns" violate the new PodSecurity enforce level "baseline:latest"',
      "a (and 2 other pods): host namespaces",
    ]);
  });
});
