/** What kinds that keep a number of pods alive have in common; most of it is of ReplicaSets and ReplicationControllers. */
import { ageColumn, nameColumn } from "#api/columns.ts";
import { keep } from "#api/draft.ts";
import type { PodTemplateSpec } from "#api/generated/core.v1.ts";
import type {
  Column,
  Draft,
  KubeObject,
  RuleContext,
  ScalePaths,
  SubresourceSpec,
} from "#api/kind.ts";
import type { FieldError } from "#api/validation/field-error.ts";
import { validateKubeMetaUpdate } from "#api/validation/kube-meta.ts";
import { Path } from "#api/validation/path.ts";
import { containerColumns } from "../container-columns.ts";
import { dropDisabledTemplateFields } from "../pod/drop-disabled.ts";
import { countChange, specsDiffer, validateAtMost, validateCounts } from "./workload.ts";

interface ReplicaStatus {
  readonly replicas: number;
  readonly fullyLabeledReplicas?: number;
  readonly readyReplicas?: number;
  readonly availableReplicas?: number;
  readonly terminatingReplicas?: number;
  readonly observedGeneration?: number;
}

interface Replicated extends KubeObject {
  readonly spec: { readonly replicas?: number; readonly template?: PodTemplateSpec };
  readonly status: ReplicaStatus;
}

const STATUS = Path.of("status");

export const REPLICA_SCALE: ScalePaths = {
  specReplicas: ".spec.replicas",
  statusReplicas: ".status.replicas",
  selector: ".spec.selector",
};

/** How many of the wanted pods are ready. */
export const readyColumn: Column<{
  readonly spec: { readonly replicas?: number };
  readonly status: { readonly readyReplicas?: number };
}> = {
  name: "Ready",
  type: "string",
  description: "Number of the pod with ready state",
  cell: ({ spec, status }) => `${status.readyReplicas ?? 0}/${spec.replicas ?? 0}`,
};

export function prepareReplicasCreate(draft: Draft<Replicated>, context: RuleContext): void {
  draft.status = { replicas: 0 };
  draft.metadata.generation = 1;
  dropDisabledTemplateFields(draft.spec.template, context);
}

export function prepareReplicasUpdate(
  draft: Draft<Replicated>,
  old: Replicated,
  context: RuleContext,
): void {
  draft.status = keep(old.status);
  dropDisabledTemplateFields(draft.spec.template, context, old.spec.template);
  countChange(draft, old, specsDiffer(draft.spec, old.spec));
}

/** The status subresource; `more`: counts that only one of the kinds has. */
export function replicaStatus<T extends Replicated>(
  ...more: readonly (keyof ReplicaStatus)[]
): SubresourceSpec<T> {
  return {
    prepareUpdate: (draft, old) => {
      (draft as Draft<Replicated>).spec = keep(old.spec);
    },
    validateUpdate: (next, old) => [
      ...validateKubeMetaUpdate(next, old),
      ...validateReplicaStatus(next.status, more),
    ],
  };
}

function validateReplicaStatus(
  status: ReplicaStatus,
  more: readonly (keyof ReplicaStatus)[],
): FieldError[] {
  const parts = ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"] as const;
  const counts = ["replicas", ...parts, "observedGeneration", ...more] as const;
  const ofAll = "cannot be greater than status.replicas";
  const ofReady = "cannot be greater than readyReplicas";
  return [
    ...validateCounts(status, counts, STATUS),
    ...validateAtMost(status, parts, "replicas", ofAll, STATUS),
    ...validateAtMost(status, ["availableReplicas"], "readyReplicas", ofReady, STATUS),
  ];
}

/** All columns but that of the selector. `type`: the kind in the fact tables, `apps.v1.ReplicaSet`. */
export function replicaColumns<T extends Replicated>(type: string): readonly Column<T>[] {
  return [
    nameColumn,
    {
      name: "Desired",
      type: "integer",
      describedBy: `${type}Spec.replicas`,
      cell: ({ spec }) => spec.replicas ?? 0,
    },
    {
      name: "Current",
      type: "integer",
      describedBy: `${type}Status.replicas`,
      cell: ({ status }) => status.replicas,
    },
    {
      name: "Ready",
      type: "integer",
      describedBy: `${type}Status.readyReplicas`,
      cell: ({ status }) => status.readyReplicas ?? 0,
    },
    ageColumn,
    ...containerColumns<T>(({ spec }) => spec.template),
  ];
}
