import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Kind } from "#api/kind.ts";
import { resourceClaimKind } from "#api/kinds/resource/v1/resource-claim.ts";
import { resourceSliceKind } from "#api/kinds/resource/v1/resource-slice.ts";
import { runKind } from "#api/testing/run-kind.ts";
import { resourceClaimV1beta1Kind, resourceSliceV1beta1Kind } from "./kinds.ts";

describe("resourceClaimV1beta1Kind: v1 through v1beta1 and back", () => {
  const rows: readonly {
    name: string;
    stored: Kind;
    served: Kind;
    spec: object;
  }[] = [
    {
      name: "a ResourceClaim keeps every field",
      stored: resourceClaimKind,
      served: resourceClaimV1beta1Kind,
      spec: {
        devices: {
          requests: [
            {
              name: "r",
              exactly: {
                deviceClassName: "c",
                count: 2,
                selectors: [{ cel: { expression: "e" } }],
                adminAccess: true,
              },
            },
            { name: "s", firstAvailable: [{ name: "a", deviceClassName: "c" }] },
          ],
          constraints: [{ matchAttribute: "d/a" }],
        },
      },
    },
    {
      name: "slices of a node",
      stored: resourceSliceKind,
      served: resourceSliceV1beta1Kind,
      spec: {
        driver: "d",
        pool: { name: "p", generation: 1, resourceSliceCount: 1 },
        nodeName: "n",
        devices: [{ name: "a", attributes: { x: { int: 1 } }, capacity: { y: { value: "1" } } }],
      },
    },
    {
      name: "slices of all nodes",
      stored: resourceSliceKind,
      served: resourceSliceV1beta1Kind,
      spec: {
        driver: "d",
        pool: { name: "p", generation: 1, resourceSliceCount: 1 },
        allNodes: true,
      },
    },
  ];
  for (const { name, stored, served, spec } of rows) {
    test(name, () => {
      const { object } = runKind(stored, { object: { spec } });
      const { toStored, fromStored } = served.storedAs!;
      const shown = fromStored(object);
      assert.deepEqual(toStored(shown), object);
      // Nothing in it is foreign to the other version.
      assert.deepEqual(runKind(served, { object: shown }).object, shown);
    });
  }
});
