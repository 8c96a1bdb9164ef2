import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { NetworkPolicy } from "#api/generated/networking.v1.ts";
import { cellsOf, runKind } from "#api/testing/run-kind.ts";
import { networkPolicyKind } from "./network-policy.ts";

describe("NetworkPolicy: network policies", () => {
  const ingress = (rule: object) => ({ object: { spec: { podSelector: {}, ingress: [rule] } } });
  const port = (fields: object) => ingress({ ports: [fields] });
  const block = (cidr: string, ...except: string[]) =>
    ingress({ from: [{ ipBlock: { cidr, except } }] });
  const PORT = "spec.ingress[0].ports[0]";
  const BLOCK = "spec.ingress[0].from[0].ipBlock";
  const rows = [
    {
      name: "an unknown protocol",
      write: port({ protocol: "ICMP" }),
      faults: [
        `${PORT}.protocol: Unsupported value: "ICMP": supported values: "TCP", "UDP", "SCTP"`,
      ],
    },
    {
      name: "an end without a beginning",
      write: port({ endPort: 5 }),
      faults: [
        `${PORT}.endPort: Invalid value: 5: may not be specified when \`port\` is not specified`,
      ],
    },
    {
      name: "an end before the beginning, named as the beginning",
      write: port({ port: 9, endPort: 5 }),
      faults: [`${PORT}.endPort: Invalid value: 9: must be greater than or equal to \`port\``],
    },
    {
      name: "a range from a name",
      write: port({ port: "web", endPort: 5 }),
      faults: [
        `${PORT}.endPort: Invalid value: 5: may not be specified when \`port\` is non-numeric`,
      ],
    },
    {
      name: "an empty peer",
      write: ingress({ from: [{}] }),
      faults: ["spec.ingress[0].from[0]: Required value: must specify a peer"],
    },
    {
      name: "addresses and pods at once",
      write: ingress({ from: [{ podSelector: {}, ipBlock: { cidr: "10.0.0.0/8" } }] }),
      faults: ["spec.ingress[0].from[0]: Forbidden: may not specify both ipBlock and another peer"],
    },
    {
      name: "an exception as large as the block, and one elsewhere",
      write: block("10.0.0.0/8", "10.0.0.0/8", "11.0.0.0/16", "10.1.0.0/16"),
      faults: [
        `${BLOCK}.except[0]: Invalid value: "10.0.0.0/8": must be a strict subset of \`cidr\``,
        `${BLOCK}.except[1]: Invalid value: "11.0.0.0/16": must be a strict subset of \`cidr\``,
      ],
    },
    {
      name: "a block without range",
      write: block(""),
      faults: [`${BLOCK}.cidr: Required value`],
    },
    {
      name: "a third type",
      write: {
        object: { spec: { podSelector: {}, policyTypes: ["Ingress", "Egress", "Ingress"] } },
      },
      faults: [
        'spec.policyTypes: Invalid value: ["Ingress","Egress","Ingress"]: may not specify more than two policyTypes',
      ],
    },
  ];
  for (const { name, write, faults } of rows) {
    test(`refuse ${name}`, () =>
      assert.deepEqual(runKind(networkPolicyKind, write).faults, faults));
  }

  const types = [
    { name: "neither", spec: {}, wanted: ["Ingress"] },
    { name: "rules out", spec: { egress: [{}] }, wanted: ["Ingress", "Egress"] },
    { name: "said", spec: { egress: [{}], policyTypes: ["Egress"] }, wanted: ["Egress"] },
  ];
  for (const { name, spec, wanted } of types) {
    test(`types by default: ${name}`, () => {
      const { object } = runKind(networkPolicyKind, {
        object: { spec: { podSelector: {}, ...spec } },
      });
      assert.deepEqual((object as NetworkPolicy).spec.policyTypes, wanted);
    });
  }

  test("ports are TCP by default", () => {
    const { object } = runKind(networkPolicyKind, port({ port: 1 }));
    assert.deepEqual((object as NetworkPolicy).spec.ingress?.[0]?.ports, [
      { protocol: "TCP", port: 1 },
    ]);
  });

  test("a range that was stored wrong may stay, with a warning", () => {
    const wrong = block("10.0.0.1/8").object;
    const { faults, warnings } = runKind(networkPolicyKind, { object: wrong, old: wrong });
    assert.deepEqual(faults, []);
    assert.deepEqual(warnings, [
      `${BLOCK}.cidr: CIDR value "10.0.0.1/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.0.0.1/32"?)`,
    ]);
  });

  test("the selector in a cell", () => {
    const outcome = runKind(networkPolicyKind, {
      object: {
        spec: {
          podSelector: {
            matchLabels: { b: "1" },
            matchExpressions: [{ key: "a", operator: "In", values: ["y", "x"] }],
          },
        },
      },
    });
    assert.equal(cellsOf(networkPolicyKind, outcome)[1], "a in (x,y),b=1");
  });
});
