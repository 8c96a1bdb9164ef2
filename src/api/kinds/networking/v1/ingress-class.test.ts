import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { IngressClass } from "#api/generated/networking.v1.ts";
import { cellsOf, runKind } from "#api/testing/run-kind.ts";
import { ingressClassKind } from "./ingress-class.ts";

describe("ingress classes", () => {
  const withParameters = (parameters: object) => ({
    object: { spec: { controller: "a.b/c", parameters } },
  });
  const rows = [
    {
      name: "no controller",
      write: { object: { spec: {} } },
      faults: ["spec.controller: Required value"],
    },
    {
      name: "a controller without a domain",
      write: { object: { spec: { controller: "c" } } },
      faults: [
        'spec.controller: Invalid value: "c": must be a domain-prefixed path (such as "acme.io/foo")',
      ],
    },
    {
      name: "a controller of too many letters",
      write: { object: { spec: { controller: `a/${"b".repeat(249)}` } } },
      faults: ["spec.controller: Too long: may not be more than 250 bytes"],
    },
    {
      name: "a namespace for cluster parameters",
      write: withParameters({ kind: "K", name: "n", namespace: "ns" }),
      faults: ["spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'"],
    },
    {
      name: "no namespace for namespaced parameters",
      write: withParameters({ kind: "K", name: "n", scope: "Namespace" }),
      faults: [
        "spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'",
      ],
    },
    {
      name: "parameters of an unknown scope",
      write: withParameters({ kind: "", name: "n", scope: "Galaxy" }),
      faults: [
        "spec.parameters.kind: Required value",
        'spec.parameters.scope: Unsupported value: "Galaxy": supported values: "Cluster", "Namespace"',
      ],
    },
    {
      name: "another controller",
      write: { object: { spec: { controller: "a/c" } }, old: { spec: { controller: "a/b" } } },
      faults: ['spec.controller: Invalid value: "a/c": field is immutable'],
    },
  ];
  for (const { name, write, faults } of rows) {
    test(`refuse ${name}`, () => assert.deepEqual(runKind(ingressClassKind, write).faults, faults));
  }

  test("parameters are cluster-wide by default; cells", () => {
    const outcome = runKind(ingressClassKind, {
      object: {
        metadata: { annotations: { "ingressclass.kubernetes.io/is-default-class": "true" } },
        spec: { controller: "a.b/c", parameters: { apiGroup: "g", kind: "K", name: "n" } },
      },
    });
    assert.equal((outcome.object as IngressClass).spec.parameters?.scope, "Cluster");
    assert.deepEqual(cellsOf(ingressClassKind, outcome).slice(0, 3), [
      "x (default)",
      "a.b/c",
      "K.g/n",
    ]);
  });
});
