import assert from "node:assert/strict";
import { test } from "vitest";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { endpointSliceKind } from "#api/kinds/discovery/v1/endpoint-slice.ts";
import { networkPolicyKind } from "#api/kinds/networking/v1/network-policy.ts";
import { serviceCidrKind } from "#api/kinds/networking/v1/service-cidr.ts";
import * as resources from "./node-resources.ts";

const KINDS = [
  ...[serviceKind, endpointSliceKind, nodeKind, serviceCidrKind],
  ...[podKind, namespaceKind, networkPolicyKind, configMapKind],
];

test("node resources: group, version, scope and names are those of the kinds", () => {
  const wanted = KINDS.map(({ group, version, apiVersion, scope, names: { kind, plural } }) => ({
    ...{ group, version, apiVersion, scope, names: { kind, plural } },
  }));
  const byKind = (a: { names: { kind: string } }, b: { names: { kind: string } }): number =>
    a.names.kind < b.names.kind ? -1 : 1;
  assert.deepEqual(Object.values(resources).toSorted(byKind), wanted.toSorted(byKind));
});
