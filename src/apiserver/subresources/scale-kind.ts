/** autoscaling/v1 Scale, as far as patches need it: it is never stored. */
import type { Scale } from "#api/generated/autoscaling.v1.ts";
import { defineKind, type KubeObject } from "#api/kind.ts";

export const scaleKind = defineKind<Scale & KubeObject>({
  group: "autoscaling",
  version: "v1",
  names: { kind: "Scale", plural: "scales" },
  scope: "Namespaced",
  type: "autoscaling.v1.Scale",
  nameRule: () => [],
  columns: [],
});
