/** node.k8s.io/v1 RuntimeClass: a way of running containers that nodes offer. */

import { ageColumn, nameColumn } from "#api/columns.ts";
import type { Toleration } from "#api/generated/core.v1.ts";
import type { RuntimeClass } from "#api/generated/node.v1.ts";
import { defineKind } from "#api/kind.ts";
import { validateOverhead } from "#api/kinds/core/v1/pod/containers/resources.ts";
import { nodeLabelDeprecation } from "#api/kinds/core/v1/pod/placement/placement-warnings.ts";
import { validateTolerations } from "#api/kinds/core/v1/pod/placement/tolerations.ts";
import { roundToMillis } from "#api/kinds/core/v1/resources/round-resources.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { duplicate, type FieldError, invalid, required } from "#api/validation/field-error.ts";
import { validateImmutableField } from "#api/validation/immutable.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import { METADATA } from "#api/validation/kube-meta.ts";
import { validateLabels } from "#api/validation/labels.ts";
import { isDns1123Label, nameIsDnsSubdomain } from "#api/validation/names.ts";
import { validateObjectMeta, validateObjectMetaUpdate } from "#api/validation/object-meta.ts";
import { Path } from "#api/validation/path.ts";

const HANDLER = Path.of("handler");
const META = { namespaced: false, nameRule: nameIsDnsSubdomain };

export const runtimeClassKind = defineKind<RuntimeClass>({
  group: "node.k8s.io",
  version: "v1",
  names: { kind: "RuntimeClass", plural: "runtimeclasses" },
  scope: "Cluster",
  schema: builtInSchema("node.v1.RuntimeClass"),
  nameRule: nameIsDnsSubdomain,
  createOnUpdate: true,

  defaults({ overhead }) {
    roundToMillis(overhead?.podFixed);
  },
  validate: validateClass,
  validateUpdate: (next, old) => [
    ...validateObjectMeta(next.metadata, META, METADATA),
    ...validateClass(next),
    ...validateObjectMetaUpdate(next.metadata, old.metadata, METADATA),
    ...validateImmutableField(next.handler, old.handler, HANDLER),
  ],
  warnings: ({ scheduling }) =>
    Object.keys(scheduling?.nodeSelector ?? {}).flatMap((label) => {
      const message = nodeLabelDeprecation(label);
      return message === undefined ? [] : [`scheduling.nodeSelector: ${message}`];
    }),

  columns: [
    nameColumn,
    { name: "Handler", type: "string", cell: ({ handler }) => handler },
    ageColumn,
  ],
});

function validateClass({ handler, overhead, scheduling }: RuntimeClass): FieldError[] {
  const errors: FieldError[] = [];
  if (handler === "") errors.push(required(HANDLER, ""));
  else for (const fault of isDns1123Label(handler)) errors.push(invalid(HANDLER, handler, fault));
  if (overhead !== undefined) {
    const rules = { allowPartialHugePages: false };
    validateOverhead(overhead.podFixed ?? {}, rules, Path.of("overhead"), errors);
  }
  const { nodeSelector, tolerations = [] } = scheduling ?? {};
  errors.push(...validateLabels(nodeSelector, Path.of("scheduling", "nodeSelector")));
  const path = Path.of("scheduling", "tolerations");
  validateTolerations(tolerations, { allowComparingTolerations: false }, path, errors);
  return [...errors, ...validateDistinct(tolerations, path)];
}

function validateDistinct(tolerations: readonly Toleration[], path: Path): FieldError[] {
  const seen = new Set<string>();
  return tolerations.flatMap((toleration, i) => {
    const { key, operator, value, effect } = toleration;
    const identity = JSON.stringify([key, operator, value, effect]);
    const known = seen.has(identity);
    seen.add(identity);
    return known ? [duplicate(path.index(i), internalForm("core.v1.Toleration", toleration))] : [];
  });
}
