/** coordination.k8s.io LeaseCandidate, served in two versions that are alike. */

import { ageColumn, nameColumn } from "#api/columns.ts";
import type { LeaseCandidate, LeaseCandidateSpec } from "#api/generated/coordination.v1beta1.ts";
import { defineKind, type KindSpec } from "#api/kind.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { type FieldError, invalid, required } from "#api/validation/field-error.ts";
import { validateImmutableField } from "#api/validation/immutable.ts";
import { METADATA } from "#api/validation/kube-meta.ts";
import { isConfigMapKey } from "#api/validation/names.ts";
import { validateObjectMetaUpdate } from "#api/validation/object-meta.ts";
import { Path } from "#api/validation/path.ts";
import { alsoServedAs } from "#api/versions.ts";
import { compareSemanticVersions, parseSemanticVersion } from "./semantic-version.ts";
import { OLDEST_EMULATION_VERSION, validateStrategy } from "./strategy.ts";

const SPEC = Path.of("spec");
const ZERO = parseSemanticVersion("0.0.0")!;

const spec: KindSpec<LeaseCandidate> = {
  group: "coordination.k8s.io",
  version: "v1beta1",
  names: { kind: "LeaseCandidate", plural: "leasecandidates" },
  scope: "Namespaced",
  schema: builtInSchema("coordination.v1beta1.LeaseCandidate"),
  deprecation:
    "coordination.k8s.io/v1beta1 LeaseCandidate is deprecated in v1.36+, unavailable in v1.39+",
  nameRule: isConfigMapKey,
  createOnUpdate: true,

  validate: (candidate) => validateSpec(candidate.spec),
  validateUpdate: (next, old) => [
    ...validateObjectMetaUpdate(next.metadata, old.metadata, METADATA),
    ...validateSpec(next.spec),
    ...validateImmutableField(next.spec.leaseName, old.spec.leaseName, SPEC.child("leaseName")),
  ],

  columns: [
    nameColumn,
    {
      name: "LeaseName",
      type: "string",
      describedBy: "coordination.v1alpha2.LeaseCandidateSpec.leaseName",
      cell: (candidate) => candidate.spec.leaseName,
    },
    {
      name: "BinaryVersion",
      type: "string",
      cell: (candidate) => candidate.spec.binaryVersion,
    },
    {
      name: "EmulationVersion",
      type: "string",
      cell: (candidate) => candidate.spec.emulationVersion ?? "",
    },
    ageColumn,
  ],
};

export const leaseCandidateV1Beta1Kind = defineKind(spec);
export const leaseCandidateV1Alpha2Kind = alsoServedAs(
  spec,
  "v1alpha2",
  "coordination.v1alpha2.LeaseCandidate",
  {
    deprecation:
      "coordination.k8s.io/v1alpha2 LeaseCandidate is deprecated in v1.35+, unavailable in v1.38+",
  },
);

function validateSpec(candidate: LeaseCandidateSpec): FieldError[] {
  const { leaseName, binaryVersion, emulationVersion = "", strategy = "" } = candidate;
  const errors: FieldError[] = [];
  if (leaseName === "") errors.push(required(SPEC.child("leaseName"), ""));
  const emulated = validateVersion(emulationVersion, "emulationVersion", errors);
  if (binaryVersion === "") errors.push(required(SPEC.child("binaryVersion"), ""));
  const binary = validateVersion(binaryVersion, "binaryVersion", errors);
  if (
    binaryVersion !== "" &&
    emulationVersion !== "" &&
    compareSemanticVersions(binary, emulated) < 0
  ) {
    const detail = "must be greater than or equal to `emulationVersion`";
    errors.push(invalid(SPEC.child("binaryVersion"), binaryVersion, detail));
  }
  if (strategy === "") return [...errors, required(SPEC.child("strategy"), "")];
  if (strategy === OLDEST_EMULATION_VERSION && compareSemanticVersions(emulated, ZERO) === 0) {
    const detail = "must be specified when `strategy` is 'OldestEmulationVersion'";
    errors.push(required(SPEC.child("emulationVersion"), detail));
  }
  return [...errors, ...validateStrategy(strategy, SPEC.child("strategy"))];
}

/** The version; the lowest one of all if there is none or it cannot be read. */
function validateVersion(text: string, field: string, errors: FieldError[]) {
  const version = parseSemanticVersion(text);
  if (version !== undefined) return version;
  if (text !== "") {
    errors.push(invalid(SPEC.child(field), text, "must be a valid semantic version"));
  }
  return ZERO;
}
