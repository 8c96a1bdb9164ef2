/** v1 Namespace. */

import { RESETS_STATUS } from "#api/apply/reset-fields.ts";
import { ageColumn, nameColumn } from "#api/columns.ts";
import { keep } from "#api/draft.ts";
import type { Namespace } from "#api/generated/core.v1.ts";
import { type Draft, defineKind } from "#api/kind.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { type FieldError, invalid } from "#api/validation/field-error.ts";
import {
  validateFinalizers,
  validateKubeFinalizer,
  validateKubeMeta,
  validateKubeMetaUpdate,
} from "#api/validation/kube-meta.ts";
import { nameIsDnsLabel } from "#api/validation/names.ts";
import { validateFinalizerName } from "#api/validation/object-meta.ts";
import { Path } from "#api/validation/path.ts";

/** Every namespace carries its own name as a label, so that selectors can pick it. */
const NAME_LABEL = "kubernetes.io/metadata.name";
/** In spec.finalizers until the contents are gone. */
const FINALIZER = "kubernetes";
const FINALIZERS = Path.of("spec", "finalizers");

export const namespaceKind = defineKind<Namespace>({
  group: "",
  version: "v1",
  names: { kind: "Namespace", plural: "namespaces", short: ["ns"] },
  scope: "Cluster",
  schema: builtInSchema("core.v1.Namespace"),
  deletion: {
    returnsObject: true,
    documentedAsStatus: true,
    isHeld: ({ spec }) => (spec.finalizers ?? []).length > 0,
    mark: ({ metadata, status }) => {
      status.phase = "Terminating";
      delete metadata.deletionGracePeriodSeconds; // there is none, not even of zero
    },
  },
  resetFields: { finalize: RESETS_STATUS },
  verbs: ["create", "delete", "get", "list", "patch", "update", "watch"],
  nameRule: nameIsDnsLabel,
  unconditionalUpdate: true,

  defaults(draft) {
    if (draft.metadata.name) labelWithName(draft);
    draft.status.phase ??= "Active";
  },
  prepareCreate(draft) {
    draft.status = { phase: "Active" };
    const finalizers = draft.spec.finalizers ?? [];
    if (!finalizers.includes(FINALIZER)) draft.spec.finalizers = [...finalizers, FINALIZER];
  },
  validate: (namespace) => [
    ...validateFinalizers(namespace.metadata),
    ...validateSpecFinalizers(namespace),
  ],
  prepareUpdate(draft, old) {
    draft.spec = keep(old.spec);
    draft.status = keep(old.status);
  },
  validateUpdate: (next, old) => [
    ...validateKubeMeta(next.metadata, META),
    ...validateSpecFinalizers(next),
    ...validateKubeMetaUpdate(next, old),
  ],
  canonicalize: labelWithName,

  subresources: {
    status: {
      prepareUpdate: (draft, old) => {
        draft.spec = keep(old.spec);
      },
      validateUpdate: (next, old) => [...validateKubeMetaUpdate(next, old), ...validatePhase(next)],
    },
    finalize: {
      prepareUpdate: (draft, old) => {
        draft.status = keep(old.status);
      },
      validateUpdate: (next, old) => [
        ...validateKubeMetaUpdate(next, old),
        ...(next.spec.finalizers ?? []).flatMap((name, i) =>
          validateSpecFinalizer(name, FINALIZERS.index(i)),
        ),
      ],
    },
  },

  columns: [
    nameColumn,
    {
      name: "Status",
      type: "string",
      description: "The status of the namespace",
      cell: ({ status }) => status.phase ?? "",
    },
    ageColumn,
  ],
  selectableFields: ({ status }) => ({ "status.phase": status.phase ?? "" }),
});

const META = { namespaced: false, nameRule: nameIsDnsLabel };

function labelWithName({ metadata }: Draft<Namespace>): void {
  metadata.labels = { ...metadata.labels, [NAME_LABEL]: metadata.name ?? "" };
}

function validateSpecFinalizers({ spec }: Namespace): FieldError[] {
  return (spec.finalizers ?? []).flatMap((name) => validateSpecFinalizer(name, FINALIZERS));
}

function validateSpecFinalizer(name: string, path: Path): FieldError[] {
  return [...validateFinalizerName(name, path), ...validateKubeFinalizer(name, path)];
}

/** A namespace that is being deleted is Terminating, and no other is. */
function validatePhase({ metadata, status }: Namespace): FieldError[] {
  const deleted = metadata.deletionTimestamp !== undefined;
  const wanted = deleted ? "Terminating" : "Active";
  if (status.phase === wanted) return [];
  const detail = `may only be '${wanted}' if \`deletionTimestamp\` is ${deleted ? "not " : ""}empty`;
  return [invalid(Path.of("status", "Phase"), status.phase ?? "", detail)];
}
