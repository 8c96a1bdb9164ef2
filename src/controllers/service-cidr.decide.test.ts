import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { IPAddress, ServiceCIDR } from "#api/generated/networking.v1.ts";
import { ipAddressKind } from "#api/kinds/networking/v1/ip-address.ts";
import { serviceCidrKind } from "#api/kinds/networking/v1/service-cidr.ts";
import { build } from "#testing/build.ts";
import { describeOutcome, type OutcomeText, written } from "#testing/decisions.ts";
import { serviceCidrController } from "./service-cidr.ts";

const FINALIZER = "networking.k8s.io/service-cidr-finalizer";
const DELETED = "2030-01-01T00:00:00Z";

function range(name: string, cidr: string, facts: { held?: boolean; going?: boolean } = {}) {
  const { held = true, going = false } = facts;
  return build(serviceCidrKind, {
    metadata: {
      name,
      finalizers: held ? [FINALIZER] : [],
      ...(going ? { deletionTimestamp: DELETED } : {}),
    },
    spec: { cidrs: [cidr] },
  });
}

const address = (ip: string): IPAddress => build(ipAddressKind, { metadata: { name: ip } });
const GOING = range("r", "10.0.0.0/24", { going: true });
const STATUS: OutcomeText = { writes: ["update ServiceCIDR r/status"] };
const UPDATE: OutcomeText = { writes: ["update ServiceCIDR r"] };

const rows: {
  name: string;
  range: ServiceCIDR;
  others?: readonly ServiceCIDR[];
  addresses?: readonly IPAddress[];
  afterMs?: number;
  want: OutcomeText;
  ready?: string;
}[] = [
  {
    name: "a new ServiceCIDR gets its finalizer",
    range: range("r", "10.0.0.0/24", { held: false }),
    want: UPDATE,
  },
  {
    name: "a ServiceCIDR with its finalizer becomes Ready",
    range: range("r", "10.0.0.0/24"),
    want: STATUS,
    ready: "True Kubernetes Service CIDR is ready",
  },
  {
    name: "a deleted ServiceCIDR with IPAddresses stays",
    range: GOING,
    addresses: [address("10.0.0.9")],
    afterMs: 60_000,
    want: STATUS,
    ready:
      "False There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR",
  },
  {
    name: "a deleted ServiceCIDR goes when another one holds its IPAddresses",
    range: GOING,
    others: [range("o", "10.0.0.8/29")],
    addresses: [address("10.0.0.9")],
    afterMs: 10_000,
    want: UPDATE,
  },
  {
    name: "deletion waits ten seconds for other API servers",
    range: GOING,
    afterMs: 4_000,
    want: { writes: [], recheckInMs: 6_000 },
  },
  {
    name: "a deleted ServiceCIDR without IPAddresses loses its finalizer after ten seconds",
    range: GOING,
    afterMs: 10_000,
    want: UPDATE,
  },
];

describe("ServiceCIDR", () => {
  for (const { name, range: of, others = [], addresses = [], afterMs = 0, want, ready } of rows) {
    test(name, () => {
      const state = { range: of, others, addresses };
      const outcome = serviceCidrController.decide(state, Date.parse(DELETED) + afterMs);
      assert.deepEqual(describeOutcome(outcome), want);
      if (ready === undefined) return;
      const condition = written(outcome, serviceCidrKind)?.status.conditions?.[0];
      assert.equal(`${condition?.status} ${condition?.message}`, ready);
    });
  }
});
