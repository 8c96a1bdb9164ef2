/** storage.k8s.io/v1 CSIDriver: the capabilities of a storage driver. */

import { ageColumn, NONE, nameColumn, UNSET } from "#api/columns.ts";
import { RETURNS_OBJECT } from "#api/deletion-rules.ts";
import type { CSIDriver, CSIDriverSpec, TokenRequest } from "#api/generated/storage.v1.ts";
import { type Column, defineKind } from "#api/kind.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import {
  duplicate,
  type FieldError,
  invalid,
  notSupported,
  required,
} from "#api/validation/field-error.ts";
import { semanticEqual, validateImmutableField } from "#api/validation/immutable.ts";
import { validateFinalizers, validateKubeMetaUpdate } from "#api/validation/kube-meta.ts";
import { nameIsDnsSubdomain } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";

const GROUP_POLICIES = ["File", "None", "ReadWriteOnceWithFSType"];
const LIFECYCLE_MODES = ["Persistent", "Ephemeral"];
const TOKEN_SECONDS_MIN = 10 * 60;
const TOKEN_SECONDS_MAX = 2 ** 32;
const UPDATE_SECONDS_MIN = 10;
const TOKENS_MAY_LEAK =
  "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes";
const SPEC = Path.of("spec");

export const csiDriverKind = defineKind<CSIDriver>({
  group: "storage.k8s.io",
  version: "v1",
  names: { kind: "CSIDriver", plural: "csidrivers" },
  scope: "Cluster",
  schema: builtInSchema("storage.v1.CSIDriver"),
  deletion: RETURNS_OBJECT,
  nameRule: nameIsDnsSubdomain,

  defaults({ spec }) {
    spec.attachRequired ??= true;
    spec.podInfoOnMount ??= false;
    spec.storageCapacity ??= false;
    spec.fsGroupPolicy ??= "ReadWriteOnceWithFSType";
    if ((spec.volumeLifecycleModes ?? []).length === 0) spec.volumeLifecycleModes = ["Persistent"];
    spec.requiresRepublish ??= false;
    spec.seLinuxMount ??= false;
  },
  prepareCreate({ spec }) {
    delete spec.preventPodSchedulingIfMissing;
  },
  validate: (driver) => [...validateFinalizers(driver.metadata), ...validateSpec(driver.spec)],
  prepareUpdate({ metadata, spec }, old) {
    if (old.spec.preventPodSchedulingIfMissing === undefined) {
      delete spec.preventPodSchedulingIfMissing;
    }
    if (!semanticEqual(spec, old.spec)) metadata.generation = (old.metadata.generation ?? 0) + 1;
  },
  validateUpdate: (next, old) => [
    ...validateKubeMetaUpdate(next, old),
    ...validateSpec(next.spec),
    ...validateImmutableField(
      next.spec.attachRequired,
      old.spec.attachRequired,
      SPEC.child("attachedRequired"),
    ),
    ...validateImmutableField(
      next.spec.volumeLifecycleModes,
      old.spec.volumeLifecycleModes,
      SPEC.child("volumeLifecycleModes"),
    ),
  ],
  warnings({ spec }, old) {
    const { tokenRequests = [], serviceAccountTokenInSecrets } = spec;
    if (tokenRequests.length === 0 || serviceAccountTokenInSecrets !== undefined) return [];
    return semanticEqual(tokenRequests, old?.spec.tokenRequests) ? [] : [TOKENS_MAY_LEAK];
  },

  columns: [
    nameColumn,
    flagColumn("AttachRequired", "attachRequired", true),
    flagColumn("PodInfoOnMount", "podInfoOnMount", false),
    flagColumn("StorageCapacity", "storageCapacity", false),
    {
      name: "TokenRequests",
      type: "string",
      describedBy: "storage.v1.CSIDriverSpec.tokenRequests",
      cell: ({ spec: { tokenRequests } }) =>
        tokenRequests?.map(({ audience }) => audience).join(",") ?? UNSET,
    },
    flagColumn("RequiresRepublish", "requiresRepublish", false),
    {
      name: "Modes",
      type: "string",
      describedBy: "storage.v1.CSIDriverSpec.volumeLifecycleModes",
      cell: ({ spec }) => (spec.volumeLifecycleModes ?? []).join(",") || NONE,
    },
    ageColumn,
  ],
});

type Flag = "attachRequired" | "podInfoOnMount" | "storageCapacity" | "requiresRepublish";

function flagColumn(name: string, field: Flag, unset: boolean): Column<CSIDriver> {
  return {
    name,
    type: "boolean",
    describedBy: `storage.v1.CSIDriverSpec.${field}`,
    cell: ({ spec }) => spec[field] ?? unset,
  };
}

function validateSpec(spec: CSIDriverSpec): FieldError[] {
  const errors: FieldError[] = [];
  const { fsGroupPolicy, tokenRequests = [], nodeAllocatableUpdatePeriodSeconds: period } = spec;
  const needed = {
    attachedRequired: spec.attachRequired,
    podInfoOnMount: spec.podInfoOnMount,
    storageCapacity: spec.storageCapacity,
  };
  for (const [field, value] of Object.entries(needed)) {
    if (value === undefined) errors.push(required(SPEC.child(field), ""));
  }
  if (fsGroupPolicy !== undefined && !GROUP_POLICIES.includes(fsGroupPolicy)) {
    errors.push(notSupported(SPEC.child("fsGroupPolicy"), fsGroupPolicy, GROUP_POLICIES));
  }
  errors.push(...validateTokenRequests(tokenRequests));
  for (const mode of spec.volumeLifecycleModes ?? []) {
    if (LIFECYCLE_MODES.includes(mode)) continue;
    errors.push(notSupported(SPEC.child("volumeLifecycleModes"), mode, LIFECYCLE_MODES));
  }
  if (spec.seLinuxMount === undefined) errors.push(required(SPEC.child("seLinuxMount"), ""));
  if (period !== undefined && period < UPDATE_SECONDS_MIN) {
    const detail = "must be greater than or equal to 10 seconds";
    errors.push(invalid(SPEC.child("nodeAllocatableUpdatePeriodSeconds"), period, detail));
  }
  const { serviceAccountTokenInSecrets: inSecrets } = spec;
  if (inSecrets !== undefined && tokenRequests.length === 0) {
    const detail = "serviceAccountTokenInSecrets is set but no tokenRequests are specified";
    errors.push(invalid(SPEC.child("serviceAccountTokenInSecrets"), inSecrets, detail));
  }
  return errors;
}

function validateTokenRequests(requests: readonly TokenRequest[]): FieldError[] {
  const seen = new Set<string>();
  return requests.flatMap(({ audience, expirationSeconds: seconds }, i) => {
    const path = SPEC.child("tokenRequests").index(i);
    if (seen.has(audience)) return [duplicate(path.child("audience"), audience)];
    seen.add(audience);
    const at = path.child("expirationSeconds");
    if (seconds === undefined) return [];
    if (seconds < TOKEN_SECONDS_MIN) {
      return [invalid(at, seconds, "may not specify a duration less than 10 minutes")];
    }
    if (seconds <= TOKEN_SECONDS_MAX) return [];
    return [invalid(at, seconds, "may not specify a duration larger than 2^32 seconds")];
  });
}
