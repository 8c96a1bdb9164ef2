import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { runKind } from "#api/testing/run-kind.ts";
import { podOf } from "#api/testing/run-pod.ts";

type Fields = Record<string, unknown>;

function report(status: Fields, old: Fields = {}, spec: Fields = {}) {
  const qosClass = "BestEffort";
  return runKind(podKind, {
    object: { ...podOf({ ...spec, hostname: "ignored" }), status: { qosClass, ...status } },
    old: { ...podOf(spec), status: { qosClass, ...old } },
    subresource: "status",
  });
}

const terminated = (exitCode: number) => [
  { name: "c", image: "i", state: { terminated: { exitCode } } },
];
const running = [{ name: "c", image: "i", state: { running: {} } }];

describe("status of pods", () => {
  const cases: readonly {
    name: string;
    status: Fields;
    old?: Fields;
    spec?: Fields;
    want: readonly string[];
  }[] = [
    { name: "a change of the phase is accepted", status: { phase: "Running" }, want: [] },
    {
      name: "qosClass is immutable",
      status: { qosClass: "Burstable" },
      want: ['status.qosClass: Invalid value: "Burstable": field is immutable'],
    },
    {
      name: "the type of a condition must be a qualified name",
      status: { conditions: [{ type: "a b", status: "True", observedGeneration: -1 }] },
      want: [
        "status.conditions[0].observedGeneration: Invalid value: -1: must be a non-negative integer",
        "status.conditions[0].Type: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
      ],
    },
    {
      name: "a bound pod has no other node in mind",
      status: { nominatedNodeName: "m" },
      spec: { nodeName: "n" },
      want: [
        "status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node",
      ],
    },
    {
      name: "two addresses of a family",
      status: { podIPs: [{ ip: "10.0.0.1" }, { ip: "10.0.0.2" }] },
      want: [
        'status.podIPs: Invalid value: [{"IP":"10.0.0.1"},{"IP":"10.0.0.2"}]: may specify no more than one IP for each IP family',
      ],
    },
    {
      name: "podIPs may have one IPv4 and one IPv6 address",
      status: { podIPs: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }] },
      want: [],
    },
    {
      name: "odd addresses may stay but not come",
      status: { hostIP: "010.0.0.1", hostIPs: [{ ip: "010.0.0.1" }] },
      old: { podIPs: [{ ip: "010.0.0.1" }] },
      want: ['status.hostIPs[0]: Invalid value: "010.0.0.1": must not have leading 0s'],
    },
    {
      name: "the first address is the address",
      status: { hostIP: "10.0.0.2", hostIPs: [{ ip: "10.0.0.1" }] },
      want: ['status.hostIPs[0].ip: Invalid value: "10.0.0.1": must be equal to `hostIP`'],
    },
    {
      name: "what has ended has ended",
      status: { containerStatuses: running },
      old: { containerStatuses: terminated(1) },
      spec: { restartPolicy: "Never" },
      want: [
        "status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state",
      ],
    },
    {
      name: "a failed container may run again with restartPolicy OnFailure",
      status: { containerStatuses: running },
      old: { containerStatuses: terminated(1) },
      spec: { restartPolicy: "OnFailure" },
      want: [],
    },
    {
      name: "a container may run again by its restartPolicyRules",
      status: { containerStatuses: running },
      old: { containerStatuses: terminated(7) },
      spec: {
        restartPolicy: "Never",
        containers: [
          {
            name: "c",
            image: "i",
            restartPolicy: "Never",
            restartPolicyRules: [{ action: "Restart", exitCodes: { operator: "In", values: [7] } }],
          },
        ],
      },
      want: [],
    },
    {
      name: "claims that the pod has",
      status: { resourceClaimStatuses: [{ name: "a" }, { name: "b" }, { name: "b" }] },
      spec: { resourceClaims: [{ name: "b", resourceClaimName: "x" }] },
      want: [
        'status.resourceClaimStatuses[0].name: Invalid value: "a": must match the name of an entry in `spec.resourceClaims`',
        'status.resourceClaimStatuses[2].name: Duplicate value: "b"',
      ],
    },
    {
      name: "devices and their health",
      status: {
        containerStatuses: [
          {
            name: "c",
            image: "i",
            allocatedResourcesStatus: [
              {
                name: "a.b/c",
                resources: [
                  { resourceID: "1", health: "Odd" },
                  { resourceID: "1", health: "Healthy", message: "" },
                ],
              },
            ],
          },
        ],
      },
      want: [
        'status.containerStatuses[0].allocatedResourcesStatus[0].name: Invalid value: "a.b/c": must match one of the container\'s resource requests',
        'status.containerStatuses[0].allocatedResourcesStatus[0].resources[0].health: Unsupported value: "Odd": supported values: "Healthy", "Unhealthy", "Unknown"',
        "status.containerStatuses[0].allocatedResourcesStatus[0].resources[1].message: Required value: must be non-empty if specified",
        'status.containerStatuses[0].allocatedResourcesStatus[0].resources[1].resourceID: Duplicate value: "1"',
      ],
    },
  ];
  for (const { name, status, old, spec, want } of cases) {
    test(name, () => assert.deepEqual(report(status, old, spec).faults, want));
  }

  test("changes nothing of the spec, and loses no generation", () => {
    const conditions = [{ type: "Ready", status: "True", observedGeneration: 3 }];
    const { object } = report(
      { conditions: [{ type: "Ready", status: "False" }], qosClass: "" },
      { conditions, observedGeneration: 3 },
    );
    const { spec, status } = object;
    assert.equal(spec.hostname, undefined);
    assert.equal(status.observedGeneration, 3);
    assert.equal(status.qosClass, "BestEffort");
    assert.deepEqual(status.conditions, [
      {
        type: "Ready",
        observedGeneration: 3,
        status: "False",
        lastProbeTime: null,
        lastTransitionTime: null,
      },
    ]);
  });

  test("an address alone becomes a list of one", () => {
    const { status } = report({ podIP: "10.0.0.1" }).object;
    assert.deepEqual(status.podIPs, [{ ip: "10.0.0.1" }]);
  });
});
