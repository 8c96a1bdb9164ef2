import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Pod } from "#api/generated/core.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { runKind } from "#api/testing/run-kind.ts";
import { containerFaults, podFaults, podOf } from "#api/testing/run-pod.ts";
import { validatePodCreate } from "../pod-rules.ts";

type Fields = Record<string, unknown>;

const ofContainer: readonly {
  name: string;
  context: Fields;
  spec?: Fields;
  want: readonly string[];
}[] = [
  {
    name: "ids are numbers of 31 bits",
    context: { runAsUser: -1, runAsGroup: 2 ** 31 },
    want: [
      "runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive",
      "runAsGroup: Invalid value: 2147483648: must be between 0 and 2147483647, inclusive",
    ],
  },
  {
    name: "an unmasked /proc needs a user namespace",
    context: { procMount: "Unmasked" },
    want: ['procMount: Invalid value: "Unmasked": `hostUsers` must be false to use `Unmasked`'],
  },
  {
    name: "procMount Unmasked is accepted with hostUsers false",
    context: { procMount: "Unmasked" },
    spec: { hostUsers: false },
    want: [],
  },
  {
    name: "an unknown procMount is refused",
    context: { procMount: "X" },
    want: ['procMount: Unsupported value: "X": supported values: "Default", "Unmasked"'],
  },
  {
    name: "CAP_SYS_ADMIN with allowPrivilegeEscalation false is refused",
    context: { allowPrivilegeEscalation: false, capabilities: { add: ["CAP_SYS_ADMIN"] } },
    want: [
      ': Invalid value: {"Capabilities":{"Add":["CAP_SYS_ADMIN"],"Drop":null},"Privileged":null,"SELinuxOptions":null,"WindowsOptions":null,"RunAsUser":null,"RunAsGroup":null,"RunAsNonRoot":null,"ReadOnlyRootFilesystem":null,"AllowPrivilegeEscalation":false,"ProcMount":null,"SeccompProfile":null,"AppArmorProfile":null}: cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN',
    ],
  },
  {
    name: "seccompProfile Localhost without localhostProfile is refused",
    context: { seccompProfile: { type: "Localhost" } },
    want: [
      "seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost",
    ],
  },
  {
    name: "a localhostProfile with .. is refused",
    context: { seccompProfile: { type: "Localhost", localhostProfile: "../p" } },
    want: ["seccompProfile.localhostProfile: Invalid value: \"../p\": must not contain '..'"],
  },
  {
    name: "AppArmor profiles",
    context: { appArmorProfile: { type: "Localhost", localhostProfile: " p" } },
    want: [
      'appArmorProfile.localhostProfile: Invalid value: " p": must not be padded with whitespace',
    ],
  },
  {
    name: "AppArmor profiles with too much",
    context: { appArmorProfile: { type: "Unconfined", localhostProfile: "p" } },
    want: [
      'appArmorProfile.localhostProfile: Invalid value: "p": can only be set when AppArmor type is Localhost',
    ],
  },
  {
    name: "a runAsUserName with two backslashes is refused",
    context: { windowsOptions: { runAsUserName: "a\\b\\c" } },
    want: [
      'windowsOptions.runAsUserName: Invalid value: "a\\\\b\\\\c": runAsUserName cannot contain more than one backslash',
    ],
  },
  {
    name: "names of users of Windows",
    context: { windowsOptions: { runAsUserName: ".\\.." } },
    want: [
      "windowsOptions.runAsUserName: Invalid value: \".\\\\..\": runAsUserName's Domain doesn't match the NetBios nor the DNS format",
      'windowsOptions.runAsUserName: Invalid value: ".\\\\..": runAsUserName\'s User cannot contain only periods or spaces',
    ],
  },
];

describe("security context of a container", () => {
  for (const { name, context, spec = {}, want } of ofContainer) {
    test(name, () => {
      const faults = containerFaults({ securityContext: context }, spec);
      assert.deepEqual(
        faults.map((fault) => fault.replace(/^securityContext\.?/, "")),
        want,
      );
    });
  }

  test("privileged containers are the operator's choice", () => {
    const containers = [{ name: "c", image: "i", securityContext: { privileged: true } }];
    const { object } = runKind(podKind, { object: podOf({ containers }) });
    const faults = (allowPrivileged: boolean) =>
      validatePodCreate(object as Pod, { nowMs: 0, allowPrivileged }).map(({ detail }) => detail);
    assert.deepEqual(faults(false), ["disallowed by cluster policy"]);
    assert.deepEqual(faults(true), []);
  });
});

const ofPod: readonly { name: string; spec: Fields; want: readonly string[] }[] = [
  {
    name: "negative fsGroup and supplementalGroups are refused",
    spec: { securityContext: { fsGroup: -1, supplementalGroups: [1, -2] } },
    want: [
      "spec.securityContext.fsGroup: Invalid value: -1: must be between 0 and 2147483647, inclusive",
      "spec.securityContext.supplementalGroups[1]: Invalid value: -2: must be between 0 and 2147483647, inclusive",
    ],
  },
  {
    name: "unknown fsGroupChangePolicy and seLinuxChangePolicy are refused",
    spec: { securityContext: { fsGroupChangePolicy: "A", seLinuxChangePolicy: "MountOption" } },
    want: [
      'spec.securityContext.fsGroupChangePolicy: Unsupported value: "A": supported values: "Always", "OnRootMismatch"',
      'spec.securityContext.seLinuxChangePolicy: Unsupported value: "MountOption": supported values: "Recursive"',
    ],
  },
  {
    name: "kernel parameters of the host",
    spec: {
      hostNetwork: true,
      hostIPC: true,
      securityContext: {
        sysctls: [
          { name: "net.ipv4.x", value: "1" },
          { name: "kernel/shm_rmid_forced", value: "1" },
          { name: "net.ipv4.x", value: "2" },
        ],
      },
    },
    want: [
      "spec.securityContext.sysctls[0].name: Invalid value: \"net.ipv4.x\": may not be specified when 'hostNetwork' is true",
      "spec.securityContext.sysctls[1].name: Invalid value: \"kernel/shm_rmid_forced\": may not be specified when 'hostIPC' is true",
      'spec.securityContext.sysctls[2].name: Duplicate value: "net.ipv4.x"',
      "spec.securityContext.sysctls[2].name: Invalid value: \"net.ipv4.x\": may not be specified when 'hostNetwork' is true",
    ],
  },
  {
    name: "user namespaces go with no other of the host",
    spec: { hostUsers: false, hostNetwork: true, hostPID: true, hostIPC: true },
    want: [
      "spec.hostNetwork: Forbidden: when `hostUsers` is false",
      "spec.HostPID: Forbidden: when `hostUsers` is false",
      "spec.HostIPC: Forbidden: when `hostUsers` is false",
    ],
  },
  {
    name: "processes of a Windows host",
    spec: {
      securityContext: { windowsOptions: { hostProcess: true } },
      containers: [
        { name: "a", image: "i" },
        { name: "b", image: "i", securityContext: { windowsOptions: { hostProcess: false } } },
      ],
    },
    want: [
      "spec.containers[1].securityContext.windowsOptions.hostProcess: Invalid value: false: pod hostProcess value must be identical if both are specified, was true",
      'spec: Invalid value: "": If pod contains any hostProcess containers then all containers must be HostProcess containers',
      "spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers",
      "spec: Forbidden: hostProcess containers are disallowed by cluster policy",
    ],
  },
  {
    name: "what Windows does not have",
    spec: {
      os: { name: "windows" },
      hostUsers: true,
      shareProcessNamespace: false,
      securityContext: { sysctls: [{ name: "a", value: "b" }], runAsGroup: 1 },
      containers: [
        { name: "c", image: "i", securityContext: { readOnlyRootFilesystem: true, runAsUser: 1 } },
      ],
    },
    want: [
      "spec.hostUsers: Forbidden: cannot be set for a windows pod",
      "spec.securityContext.sysctls: Forbidden: cannot be set for a windows pod",
      "spec.shareProcessNamespace: Forbidden: cannot be set for a windows pod",
      "spec.securityContext.runAsGroup: Forbidden: cannot be set for a windows pod",
      "spec.containers[0].securityContext.readOnlyRootFilesystem: Forbidden: cannot be set for a windows pod",
      "spec.containers[0].securityContext.runAsUser: Forbidden: cannot be set for a windows pod",
    ],
  },
  {
    name: "systems that there are not",
    spec: { os: { name: "beos" } },
    want: ['spec.os: Unsupported value: "beos": supported values: "linux", "windows"'],
  },
];

describe("security context of a pod", () => {
  for (const { name, spec, want } of ofPod) {
    test(name, () => assert.deepEqual(podFaults(spec), want));
  }
});

describe("profiles in annotations", () => {
  const seccomp = "seccomp.security.alpha.kubernetes.io/pod";
  const appArmor = "container.apparmor.security.beta.kubernetes.io/c";

  test("invalid seccomp and AppArmor annotations are refused", () => {
    const annotations = { [seccomp]: "x", [appArmor]: "y" };
    assert.deepEqual(podFaults({}, { annotations }), [
      `metadata.annotations.${seccomp}: Invalid value: "x": must be a valid seccomp profile`,
      `metadata.annotations[${appArmor}]: Invalid value: "y": invalid AppArmor profile name: "y"`,
    ]);
  });

  test("seccomp and AppArmor annotations that differ from the fields are refused", () => {
    const annotations = { [seccomp]: "localhost/a", [appArmor]: "localhost/b" };
    const spec = {
      securityContext: {
        seccompProfile: { type: "Localhost", localhostProfile: "z" },
        appArmorProfile: { type: "Unconfined" },
      },
      containers: [
        {
          name: "c",
          image: "i",
          securityContext: { appArmorProfile: { type: "RuntimeDefault" } },
        },
      ],
    };
    assert.deepEqual(podFaults(spec, { annotations }), [
      "spec.securityContext.seccompProfile.localhostProfile: Forbidden: seccomp profile in annotation and field must match",
      "spec.containers[0].securityContext.appArmorProfile.type: Forbidden: apparmor type in annotation and field must match",
    ]);
  });
});
