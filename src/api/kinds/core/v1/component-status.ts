/** v1 ComponentStatus: the health of the control plane's parts, made up on every read. */

import { nameColumn } from "#api/columns.ts";
import type { ComponentCondition, ComponentStatus } from "#api/generated/core.v1.ts";
import { defineKind } from "#api/kind.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { pathSegmentName } from "#api/validation/names.ts";

export const componentStatusKind = defineKind<ComponentStatus>({
  group: "",
  version: "v1",
  names: { kind: "ComponentStatus", plural: "componentstatuses", short: ["cs"] },
  scope: "Cluster",
  schema: builtInSchema("core.v1.ComponentStatus"),
  quota: "none",
  verbs: ["get", "list"],
  nameRule: pathSegmentName,
  deprecation: "v1 ComponentStatus is deprecated in v1.19+",
  columns: [
    nameColumn,
    {
      name: "Status",
      type: "string",
      description: "Status of the component conditions",
      cell: (component) => {
        const healthy = healthOf(component);
        if (healthy === undefined) return "Unknown";
        return healthy.status === "True" ? "Healthy" : "Unhealthy";
      },
    },
    {
      name: "Message",
      type: "string",
      description: "Message of the component conditions",
      cell: (component) => healthOf(component)?.message ?? "",
    },
    {
      name: "Error",
      type: "string",
      description: "Error of the component conditions",
      cell: (component) => healthOf(component)?.error ?? "",
    },
  ],
});

function healthOf({ conditions = [] }: ComponentStatus): ComponentCondition | undefined {
  return conditions.find(({ type }) => type === "Healthy");
}
