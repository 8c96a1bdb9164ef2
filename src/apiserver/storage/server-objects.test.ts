import assert from "node:assert/strict";
import { test } from "vitest";
import { resourceQuotaKind } from "#api/kinds/core/v1/resources/resource-quota.ts";
import { startTestApi } from "../api.testing.ts";

const QUOTAS = "/api/v1/namespaces/default/resourcequotas";
const TYPE = { apiVersion: "v1", kind: "ResourceQuota" };

test("managedFields: the server owns the status fields that it writes, also those of a previous manager", async () => {
  await using api = await startTestApi();
  const hard = { pods: "10" };
  const metadata = { name: "q" };
  await api.want(201, "POST", QUOTAS, {
    body: { ...TYPE, metadata, spec: { hard } },
    headers: { "user-agent": "kubectl-create" },
  });
  await api.want(200, "PUT", `${QUOTAS}/q/status`, {
    body: { ...TYPE, metadata, status: { hard, used: { pods: "0" } } },
    headers: { "user-agent": "kube-controller-manager" },
  });
  await api.clock.advance(2_000); // the later come last
  const charged = await api.api.objects.mutate(
    resourceQuotaKind,
    "default",
    "q",
    (draft) => {
      draft.status.used = { pods: "1" };
      return undefined;
    },
    "status",
  );
  assert.ok(charged.ok);
  const { managedFields } = (await api.want(200, "GET", `${QUOTAS}/q`)).metadata;
  const owners = managedFields.map((one: Record<string, unknown>) => [
    one.manager,
    one.subresource,
    one.fieldsV1,
  ]);
  assert.deepEqual(owners, [
    [
      "kube-controller-manager",
      "status",
      { "f:status": { "f:hard": { ".": {}, "f:pods": {} }, "f:used": {} } },
    ],
    ["kubectl-create", undefined, { "f:spec": { "f:hard": { ".": {}, "f:pods": {} } } }],
    ["kube-apiserver", "status", { "f:status": { "f:used": { "f:pods": {} } } }],
  ]);
});
