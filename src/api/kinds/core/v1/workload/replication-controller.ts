/** v1 ReplicationController: what ReplicaSets were before they had selectors with expressions. */

import { formatLabels } from "#api/columns.ts";
import type { ReplicationController } from "#api/generated/core.v1.ts";
import { type Draft, defineKind } from "#api/kind.ts";
import { selectorFromLabels } from "#api/meta/label-selector.ts";
import { objectCount } from "#api/quota/object-count.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { type FieldError, invalid, notFound, required } from "#api/validation/field-error.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import { validateFinalizers, validateKubeMetaUpdate } from "#api/validation/kube-meta.ts";
import { nameIsLongName } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { defaultPodTemplate } from "../pod/defaults.ts";
import { templateWarnings } from "../pod/warnings.ts";
import {
  type TemplateRules,
  templateRules,
  validatePodTemplateSpec,
} from "./pod-template-validation.ts";
import {
  prepareReplicasCreate,
  prepareReplicasUpdate,
  REPLICA_SCALE,
  replicaColumns,
  replicaStatus,
} from "./replicas.ts";
import {
  podNameWarnings,
  validateCounts,
  validateRunsForever,
  validateSelectsTemplate,
} from "./workload.ts";

const SPEC = Path.of("spec");
const NON_CONVERTIBLE = "non-convertible.kubernetes.io";

export const replicationControllerKind = defineKind<ReplicationController>({
  group: "",
  version: "v1",
  names: {
    kind: "ReplicationController",
    plural: "replicationcontrollers",
    short: ["rc"],
    categories: ["all"],
  },
  scope: "Namespaced",
  schema: builtInSchema("core.v1.ReplicationController"),
  deletion: { garbageCollection: "orphan" },
  storagePath: "controllers",
  quota: objectCount("", "replicationcontrollers", "replicationcontrollers"),
  nameRule: nameIsLongName,
  unconditionalUpdate: true,
  defaults,
  prepareCreate: prepareReplicasCreate,
  validate: (controller, context) => [
    ...validateFinalizers(controller.metadata),
    ...validateSpec(controller, templateRules(context)),
  ],
  prepareUpdate: prepareReplicasUpdate,
  validateUpdate: (controller, old, context) => [
    ...validateKubeMetaUpdate(controller, old),
    ...validateSpec(controller, templateRules(context, old.spec.template)),
    ...validateNonConvertible(controller, old),
  ],
  warnings: (controller, old) => {
    if (old !== undefined && controller.metadata.generation === old.metadata.generation) return [];
    // An update is judged by what was there before it; clients have come to know it so.
    const { template } = (old ?? controller).spec;
    const at = SPEC.child("template");
    const warnings = template === undefined ? [] : templateWarnings(template, at);
    return old === undefined ? [...podNameWarnings(controller), ...warnings] : warnings;
  },
  subresources: { status: replicaStatus() },
  scale: REPLICA_SCALE,
  columns: [
    ...replicaColumns<ReplicationController>("core.v1.ReplicationController"),
    {
      name: "Selector",
      type: "string",
      describedBy: "core.v1.ReplicationControllerSpec.selector",
      priority: 1,
      cell: ({ spec }) => formatLabels(spec.selector),
    },
  ],
  selectableFields: ({ status }) => ({ "status.replicas": String(status.replicas) }),
});

/** The labels of the template do for the selector, and for the object itself. */
function defaults({ metadata, spec }: Draft<ReplicationController>): void {
  const labels = spec.template?.metadata?.labels;
  if (labels !== undefined) {
    if (Object.keys(spec.selector ?? {}).length === 0) spec.selector = { ...labels };
    if (Object.keys(metadata.labels ?? {}).length === 0) metadata.labels = { ...labels };
  }
  spec.replicas ??= 1;
  if (spec.template !== undefined) defaultPodTemplate(spec.template);
}

function validateSpec({ spec }: ReplicationController, rules: TemplateRules): FieldError[] {
  const { selector = {}, template } = spec;
  const errors = validateCounts(spec, ["minReadySeconds"], SPEC);
  if (Object.keys(selector).length === 0) errors.push(required(SPEC.child("selector"), ""));
  errors.push(...validateCounts(spec, ["replicas"], SPEC));
  const at = SPEC.child("template");
  if (template === undefined) return [...errors, required(at, "")];
  errors.push(...validateSelectsTemplate(selectorFromLabels(selector), template, at));
  errors.push(...validatePodTemplateSpec(template, rules, at));
  errors.push(...validateRunsForever(template, "ReplicationController", at));
  return errors;
}

/** Marks that another API could not hold all of the object. */
function validateNonConvertible(
  { spec }: ReplicationController,
  old: ReplicationController,
): FieldError[] {
  return Object.entries(old.metadata.annotations ?? {}).flatMap(([key, value]) => {
    const parts = key.split("/");
    if (!key.startsWith(NON_CONVERTIBLE) || parts.length !== 2) return [];
    if (!parts[1]!.includes("selector")) {
      const error = notFound(Path.of(parts[1]!), value);
      return [{ ...error, detail: "unknown non-convertible field" }];
    }
    if (semanticEqual(spec.selector, old.spec.selector)) return [];
    const detail = "cannot update non-convertible selector";
    return [invalid(SPEC.child("selector"), spec.selector, detail)];
  });
}
