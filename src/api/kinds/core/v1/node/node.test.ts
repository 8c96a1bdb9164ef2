import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Node } from "#api/generated/core.v1.ts";
import { runKind } from "#api/testing/run-kind.ts";
import { nodeKind } from "./node.ts";

const taint = (taints: readonly object[]) => ({ object: { spec: { taints } } });
const configMap = { namespace: "a", name: "b", kubeletConfigKey: "c" };

describe("nodes", () => {
  test("allocatable defaults to capacity, podCIDR leads podCIDRs", () => {
    const { object } = runKind(nodeKind, {
      object: {
        spec: { podCIDR: "10.0.0.0/24", podCIDRs: ["10.0.1.0/24"], configSource: { configMap } },
        status: { capacity: { cpu: "2" } },
      },
    });
    const { spec, status } = object as Node;
    assert.deepEqual(spec, { podCIDR: "10.0.0.0/24", podCIDRs: ["10.0.0.0/24"] });
    assert.deepEqual(status.allocatable, { cpu: "2" });
  });

  const rows = [
    {
      name: "a taint twice",
      write: taint([
        { key: "a", effect: "NoSchedule" },
        { key: "a", effect: "NoSchedule", value: "b" },
      ]),
      faults: [
        'metadata.taints[1]: Duplicate value: {"Key":"a","Value":"b","Effect":"NoSchedule","TimeAdded":null}: taints must be unique by key and effect pair',
      ],
    },
    {
      name: "a taint without an effect",
      write: taint([{ key: "a" }]),
      faults: ["metadata.taints[0].effect: Required value"],
    },
    {
      name: "taints in an annotation that are no JSON",
      write: {
        object: { metadata: { annotations: { "scheduler.alpha.kubernetes.io/taints": "x" } } },
      },
      faults: [
        "metadata.annotations: Invalid value: \"scheduler.alpha.kubernetes.io/taints\": invalid character 'x' looking for beginning of value",
      ],
    },
    {
      name: "two networks of one family",
      write: { object: { spec: { podCIDRs: ["10.0.0.0/24", "10.0.1.0/24"] } } },
      faults: [
        'spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.0.1.0/24"]: may specify no more than one CIDR for each IP family',
      ],
    },
    {
      name: "negative capacity",
      write: { object: { status: { capacity: { cpu: "-1" } } } },
      faults: [
        'status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0',
        'status.allocatable.cpu: Invalid value: "-1": must be greater than or equal to 0',
      ],
    },
    {
      name: "features out of order",
      write: { object: { status: { declaredFeatures: ["B", "A", "A"] } } },
      faults: [
        'status.declaredFeatures[1]: Invalid value: "A": list must be sorted alphabetically',
        'status.declaredFeatures[2]: Duplicate value: "A"',
      ],
    },
    {
      name: "another network, provider or external id",
      write: {
        object: { spec: { podCIDRs: ["10.0.1.0/24"], providerID: "b", externalID: "c" } },
        old: { spec: { podCIDRs: ["10.0.0.0/24"], providerID: "a" } },
      },
      faults: [
        'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
        'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid',
        "spec.externalID: Forbidden: may not be updated",
      ],
    },
    {
      name: "an address twice",
      write: {
        object: {
          status: {
            addresses: [
              { type: "Hostname", address: "a" },
              { type: "Hostname", address: "a" },
            ],
          },
        },
        old: {},
        subresource: "status",
      },
      faults: ['status.addresses[1]: Duplicate value: {"Type":"Hostname","Address":"a"}'],
    },
    {
      name: "a status that names a config without its uid",
      write: {
        object: { status: { config: { active: { configMap } } } },
        old: { status: { config: {} } },
        subresource: "status",
      },
      faults: [
        "status.config.active.configMap.uid: Required value",
        "status.config.active.configMap.resourceVersion: Required value",
      ],
    },
  ];
  for (const { name, write, faults } of rows) {
    test(`refuse ${name}`, () => assert.deepEqual(runKind(nodeKind, write).faults, faults));
  }

  test("the columns show status, roles and version", () => {
    const { object } = runKind(nodeKind, {
      object: {
        metadata: {
          labels: { "node-role.kubernetes.io/control-plane": "", "kubernetes.io/role": "edge" },
        },
        spec: { unschedulable: true },
        status: {
          conditions: [{ type: "Ready", status: "False" }],
          addresses: [{ type: "InternalIP", address: "10.0.0.1" }],
          nodeInfo: { kubeletVersion: "v1.36.4", kernelVersion: "6.1", architecture: "amd64" },
        },
      },
    });
    assert.deepEqual(
      nodeKind.columns.map((column) => column.cell(object, 0)),
      [
        "x",
        "NotReady,SchedulingDisabled",
        "control-plane,edge",
        "<unknown>",
        "v1.36.4",
        "10.0.0.1",
        "<none>",
        "<unknown>",
        "6.1 (amd64)",
        "<unknown>",
      ],
    );
  });
});
