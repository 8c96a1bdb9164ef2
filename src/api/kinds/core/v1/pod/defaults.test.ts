import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { membersOf } from "#api/members.ts";
import { podOf, runPod } from "#api/testing/run-pod.ts";
import { imageTag } from "./containers/image-tag.ts";

type Fields = Record<string, unknown>;

const specOf = (spec: Fields) => runPod(spec).object.spec;
const containerOf = (fields: Fields, spec: Fields = {}) =>
  membersOf(
    specOf({ ...spec, containers: [{ name: "c", image: "i", ...fields }] }).containers![0]!,
  );
const volumeOf = (source: Fields) => specOf({ volumes: [{ name: "v", ...source }] }).volumes![0]!;

describe("defaults of containers", () => {
  const cases: readonly { name: string; fields: Fields; spec?: Fields; want: Fields }[] = [
    {
      name: "a tagged image is pulled once",
      fields: { image: "i:1" },
      want: { imagePullPolicy: "IfNotPresent" },
    },
    {
      name: "the latest one always",
      fields: { image: "i:latest" },
      want: { imagePullPolicy: "Always" },
    },
    {
      name: "the protocol of a port is TCP",
      fields: { ports: [{ containerPort: 1 }] },
      want: { ports: [{ containerPort: 1, protocol: "TCP" }] },
    },
    {
      name: "hostPort of a hostNetwork pod is its containerPort",
      fields: { ports: [{ containerPort: 1 }] },
      spec: { hostNetwork: true },
      want: { ports: [{ hostPort: 1, containerPort: 1, protocol: "TCP" }] },
    },
    {
      name: "requests are the limits",
      fields: { resources: { limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "500m" } } },
      want: {
        resources: {
          limits: { cpu: "1", memory: "1Gi" },
          requests: { cpu: "500m", memory: "1Gi" },
        },
      },
    },
    {
      name: "finer amounts are rounded up",
      fields: { resources: { requests: { cpu: "1500u" } } },
      want: { resources: { requests: { cpu: "2m" } } },
    },
    {
      name: "probes get timeoutSeconds, periodSeconds and thresholds",
      fields: { livenessProbe: { httpGet: { port: 1 } }, readinessProbe: { grpc: { port: 2 } } },
      want: {
        livenessProbe: {
          httpGet: { path: "/", port: 1, scheme: "HTTP" },
          timeoutSeconds: 1,
          periodSeconds: 10,
          successThreshold: 1,
          failureThreshold: 3,
        },
        readinessProbe: {
          grpc: { port: 2, service: "" },
          timeoutSeconds: 1,
          periodSeconds: 10,
          successThreshold: 1,
          failureThreshold: 3,
        },
      },
    },
    {
      name: "hooks, and signals of a feature that is off",
      fields: { lifecycle: { preStop: { httpGet: { port: 1 } }, stopSignal: "SIGUSR1" } },
      want: { lifecycle: { preStop: { httpGet: { path: "/", port: 1, scheme: "HTTP" } } } },
    },
    {
      name: "apiVersion of a fieldRef is v1",
      fields: { env: [{ name: "a", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }] },
      want: {
        env: [
          { name: "a", valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "metadata.name" } } },
        ],
      },
    },
  ];
  for (const { name, fields, spec, want } of cases) {
    test(name, () => {
      const container = containerOf(fields, spec);
      for (const [field, value] of Object.entries(want)) assert.deepEqual(container[field], value);
    });
  }
});

describe("defaults of volumes", () => {
  const cases: readonly { name: string; source: Fields; want: Fields }[] = [
    { name: "a volume without a source is an emptyDir", source: {}, want: { emptyDir: {} } },
    {
      name: "a hostPath volume has the empty type",
      source: { hostPath: { path: "/" } },
      want: { hostPath: { path: "/", type: "" } },
    },
    {
      name: "a configMap volume has defaultMode 0644",
      source: { configMap: { name: "m" } },
      want: { configMap: { name: "m", defaultMode: 420 } },
    },
    {
      name: "an rbd volume gets pool, user and keyring",
      source: { rbd: { monitors: ["a"], image: "i" } },
      want: {
        rbd: {
          monitors: ["a"],
          image: "i",
          pool: "rbd",
          user: "admin",
          keyring: "/etc/ceph/keyring",
        },
      },
    },
    {
      name: "azureDisk",
      source: { azureDisk: { diskName: "d", diskURI: "https://x" } },
      want: {
        azureDisk: {
          diskName: "d",
          diskURI: "https://x",
          cachingMode: "ReadWrite",
          fsType: "ext4",
          readOnly: false,
          kind: "Shared",
        },
      },
    },
    {
      name: "a projected serviceAccountToken expires after an hour",
      source: { projected: { sources: [{ serviceAccountToken: { path: "t" } }] } },
      want: {
        projected: {
          sources: [{ serviceAccountToken: { expirationSeconds: 3600, path: "t" } }],
          defaultMode: 420,
        },
      },
    },
    {
      name: "an image volume without a tag is pulled always",
      source: { image: { reference: "a/b" } },
      want: { image: { reference: "a/b", pullPolicy: "Always" } },
    },
  ];
  for (const { name, source, want } of cases) {
    test(name, () => assert.deepEqual(volumeOf(source), { name: "v", ...want }));
  }
});

describe("what the server puts into new pods", () => {
  test("the old name of the account is read", () => {
    const { serviceAccountName } = specOf({ serviceAccountName: "", serviceAccount: "old" });
    assert.equal(serviceAccountName, "old");
  });

  test("a grace period below zero becomes a second", () => {
    assert.equal(specOf({ terminationGracePeriodSeconds: -5 }).terminationGracePeriodSeconds, 1);
  });

  test("gates hold a pod back from the start", () => {
    const { object } = runPod({ schedulingGates: [{ name: "g" }] }, {}, { nowMs: 86_400_000 });
    assert.deepEqual(object.status, {
      phase: "Pending",
      conditions: [
        {
          type: "PodScheduled",
          status: "False",
          lastProbeTime: null,
          lastTransitionTime: "1970-01-02T00:00:00Z",
          reason: "SchedulingGated",
          message: "Scheduling is blocked due to non-empty scheduling gates",
        },
      ],
      qosClass: "BestEffort",
    });
  });

  test("label keys are merged into selectors", () => {
    const { object } = runPod(
      {
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: "z",
            whenUnsatisfiable: "DoNotSchedule",
            labelSelector: { matchLabels: { a: "b" } },
            matchLabelKeys: ["v", "absent"],
          },
        ],
      },
      { labels: { v: "7" } },
    );
    assert.deepEqual(object.spec.topologySpreadConstraints?.[0]?.labelSelector, {
      matchLabels: { a: "b" },
      matchExpressions: [{ key: "v", operator: "In", values: ["7"] }],
    });
  });

  test("AppArmor annotations become fields", () => {
    const annotations = { "container.apparmor.security.beta.kubernetes.io/c": "localhost/p" };
    const { object, faults } = runPod({}, { annotations });
    assert.deepEqual(faults, []);
    assert.deepEqual(object.spec.containers?.[0]?.securityContext, {
      appArmorProfile: { type: "Localhost", localhostProfile: "p" },
    });
  });

  test("annotations of another time are dropped", () => {
    const annotations = { "pod.beta.kubernetes.io/init-containers": "[]", a: "b" };
    assert.deepEqual(runPod({}, { annotations }).object.metadata.annotations, { a: "b" });
  });
});

test("a class of service that is given is kept", () => {
  const given = { ...podOf(), status: { qosClass: "Guaranteed" } };
  const { status } = runPod({}, {}, { object: given }).object;
  assert.equal(status.qosClass, "Guaranteed");
});

describe("tags of images", () => {
  const digest = `sha256:${"0".repeat(64)}`;
  const cases = [
    { image: "busybox", want: "latest" },
    { image: "a/b:1.0", want: "1.0" },
    { image: "host:5000/a/b", want: "latest" },
    { image: "host:5000/a/b:v1", want: "v1" },
    { image: `a@${digest}`, want: "" },
    { image: `a:latest@${digest}`, want: "latest" },
    { image: "a@sha256:12", want: "" },
    { image: "UPPER", want: "" },
    { image: "Host/a", want: "latest" },
    { image: "http://a", want: "" },
    { image: "0".repeat(64), want: "" },
    { image: "a".repeat(5000), want: "" },
  ];
  for (const { image, want } of cases) {
    test(image.slice(0, 40), () => assert.equal(imageTag(image), want));
  }
});
