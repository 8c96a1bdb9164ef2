/** storagemigration.k8s.io/v1beta1 StorageVersionMigration: rewrite a resource's stored objects. */

import { STATUS_RESETS_METADATA } from "#api/apply/reset-fields.ts";
import { nameColumn } from "#api/columns.ts";
import { keepFields, keepMetadata } from "#api/draft.ts";
import type {
  StorageVersionMigration,
  StorageVersionMigrationSpec,
  StorageVersionMigrationStatus,
} from "#api/generated/storagemigration.v1beta1.ts";
import { defineKind } from "#api/kind.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { validateConditions } from "#api/validation/conditions.ts";
import { type FieldError, invalid, required } from "#api/validation/field-error.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import {
  validateFinalizers,
  validateKubeMeta,
  validateKubeMetaUpdate,
} from "#api/validation/kube-meta.ts";
import { isDns1035Label, isDns1123Subdomain, nameIsDnsSubdomain } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";

const IMMUTABLE = "field is immutable";
const SHOWN_CONDITIONS = ["Running", "Failed", "Succeeded"];

export const storageVersionMigrationKind = defineKind<StorageVersionMigration>({
  group: "storagemigration.k8s.io",
  version: "v1beta1",
  names: { kind: "StorageVersionMigration", plural: "storageversionmigrations" },
  scope: "Cluster",
  schema: builtInSchema("storagemigration.v1beta1.StorageVersionMigration"),
  resetFields: STATUS_RESETS_METADATA,
  nameRule: nameIsDnsSubdomain,
  prepareCreate: (draft) => {
    draft.status = {};
  },
  prepareUpdate: (draft, old) => keepFields(draft, old, "status"),
  validate: ({ metadata, spec }) => [...validateFinalizers(metadata), ...validateSpec(spec)],
  validateUpdate: (migration, old) => {
    const { metadata, spec } = migration;
    const errors = [
      ...validateKubeMeta(metadata, { namespaced: false, nameRule: nameIsDnsSubdomain }),
      ...validateSpec(spec),
      ...validateKubeMetaUpdate(migration, old),
    ];
    if (semanticEqual(spec, old.spec)) return errors;
    const value = internalForm("storagemigration.v1beta1.StorageVersionMigrationSpec", spec);
    return [...errors, invalid(Path.of("spec"), value, IMMUTABLE)];
  },
  subresources: {
    status: {
      prepareUpdate: (draft, old) => {
        keepFields(draft, old, "spec");
        keepMetadata(draft, old);
      },
      validateUpdate: (migration, old) => [
        ...validateKubeMetaUpdate(migration, old),
        ...validateStatus(migration.status, old.status),
      ],
    },
  },
  columns: [
    { ...nameColumn, format: "" },
    {
      name: "Resource",
      type: "string",
      description: "GroupResource to migrate",
      cell: ({ spec: { resource } }) =>
        resource.group === "" ? resource.resource : `${resource.resource}.${resource.group}`,
    },
    {
      name: "Status",
      type: "string",
      description: "Status of the migration",
      cell: ({ status }) =>
        (status.conditions ?? []).findLast(
          (condition) => condition.status === "True" && SHOWN_CONDITIONS.includes(condition.type),
        )?.type ?? "Unknown",
    },
  ],
});

function validateSpec({
  resource: { resource, group },
}: StorageVersionMigrationSpec): FieldError[] {
  const path = Path.of("spec", "resource");
  const errors: FieldError[] = [];
  const resourceFaults = isDns1035Label(resource);
  if (resource === "") {
    errors.push(required(path.child("resource"), "resource is required to be set"));
  } else if (resourceFaults.length > 0) {
    errors.push(invalid(path.child("resource"), resource, resourceFaults.join(",")));
  }
  const groupFaults = group === "" ? [] : isDns1123Subdomain(group);
  if (groupFaults.length > 0) {
    errors.push(invalid(path.child("group"), group, groupFaults.join(",")));
  }
  return errors;
}

function validateStatus(
  status: StorageVersionMigrationStatus,
  old: StorageVersionMigrationStatus,
): FieldError[] {
  const path = Path.of("status");
  const { resourceVersion = "", conditions = [] } = status;
  const versionPath = path.child("resourceVersion");
  const errors: FieldError[] = [];
  if (resourceVersion !== "" && !/^[1-9][0-9]*$/.test(resourceVersion)) {
    const detail = `resource version is not well formed: ${resourceVersion}`;
    errors.push(invalid(versionPath, resourceVersion, detail));
  }
  const conditionsPath = path.child("conditions");
  errors.push(...validateConditions(conditions, conditionsPath));
  if ((old.resourceVersion ?? "") !== "" && old.resourceVersion !== resourceVersion) {
    errors.push(invalid(versionPath, resourceVersion, IMMUTABLE));
  }
  const fault = (detail: string) =>
    errors.push(invalid(conditionsPath, status.conditions ?? null, detail));
  const succeeded = isTrue(status, "Succeeded");
  const failed = isTrue(status, "Failed");
  if (succeeded && failed) {
    fault("Both success and failed conditions cannot be true at the same time");
  }
  if (isTrue(old, "Succeeded") && !succeeded) {
    fault("Success condition cannot be set to false once it is true");
  }
  if (isTrue(old, "Failed") && !failed) {
    fault("Failed condition cannot be set to false once it is true");
  }
  return errors;
}

function isTrue({ conditions = [] }: StorageVersionMigrationStatus, type: string): boolean {
  return conditions.find((condition) => condition.type === type)?.status === "True";
}
