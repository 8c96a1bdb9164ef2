/** autoscaling/v1 Scale, as far as patches and tables need it: it is never stored. */

import { ageColumn, nameColumn } from "#api/columns.ts";
import type { Scale } from "#api/generated/autoscaling.v1.ts";
import { defineKind, type KubeObject } from "#api/kind.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";

export const scaleKind = defineKind<Scale & KubeObject>({
  group: "autoscaling",
  version: "v1",
  names: { kind: "Scale", plural: "scales" },
  scope: "Namespaced",
  schema: builtInSchema("autoscaling.v1.Scale"),
  nameRule: () => [],
  columns: [
    { ...nameColumn, format: "" },
    {
      name: "Desired",
      type: "integer",
      describedBy: "autoscaling.v1.ScaleSpec.replicas",
      cell: ({ spec }) => spec?.replicas ?? 0,
    },
    {
      name: "Available",
      type: "integer",
      describedBy: "autoscaling.v1.ScaleStatus.replicas",
      cell: ({ status }) => status?.replicas ?? 0,
    },
    ageColumn,
  ],
});
