/** resource.k8s.io/v1alpha3 ResourcePoolStatusRequest: asks once how the pools of a driver are. */

import { STATUS_RESETS_METADATA } from "#api/apply/reset-fields.ts";
import { ageOf, NONE, nameColumn } from "#api/columns.ts";
import { RETURNS_OBJECT } from "#api/deletion-rules.ts";
import { keepFields, keepMetadata } from "#api/draft.ts";
import type {
  PoolStatus,
  ResourcePoolStatusRequest,
  ResourcePoolStatusRequestSpec,
  ResourcePoolStatusRequestStatus,
} from "#api/generated/resource.v1alpha3.ts";
import { type Column, defineKind } from "#api/kind.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { validateConditions } from "#api/validation/conditions.ts";
import { invalidEach } from "#api/validation/faults.ts";
import {
  duplicate,
  type FieldError,
  invalid,
  required,
  tooLong,
  tooMany,
} from "#api/validation/field-error.ts";
import { regexFault } from "#api/validation/formats.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import { validateFinalizers, validateKubeMetaUpdate } from "#api/validation/kube-meta.ts";
import { isDns1123Subdomain, nameIsDnsSubdomain } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { utf8Length } from "#lib/text/utf8-length.ts";

const LIMIT_DEFAULT = 100;
const LIMIT_MAX = 1000;
const POOLS_MAX = 1000;
const CONDITIONS_MAX = 10;
const NAME_BYTES_MAX = 253;
const ERROR_BYTES_MAX = 256;
const DOMAIN_SOURCE = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const DOMAIN_ANY_CASE = new RegExp(`^${DOMAIN_SOURCE}$`, "i");

export const resourcePoolStatusRequestKind = defineKind<ResourcePoolStatusRequest>({
  group: "resource.k8s.io",
  version: "v1alpha3",
  names: { kind: "ResourcePoolStatusRequest", plural: "resourcepoolstatusrequests" },
  scope: "Cluster",
  schema: builtInSchema("resource.v1alpha3.ResourcePoolStatusRequest"),
  resetFields: STATUS_RESETS_METADATA,
  deletion: RETURNS_OBJECT,
  nameRule: nameIsDnsSubdomain,
  defaults: ({ spec }) => {
    spec.limit ??= LIMIT_DEFAULT;
  },
  prepareCreate: (draft) => {
    delete draft.status;
  },
  prepareUpdate: (draft, old) => keepFields(draft, old, "status"),
  validate: ({ metadata, spec }) => [...validateFinalizers(metadata), ...validateSpec(spec)],
  validateUpdate: (request, old) => {
    const errors = validateKubeMetaUpdate(request, old);
    if (semanticEqual(request.spec, old.spec)) return errors;
    return [...errors, invalid(Path.of("spec"), null, "field is immutable")];
  },
  subresources: {
    status: {
      prepareUpdate: (draft, old) => {
        keepFields(draft, old, "spec");
        keepMetadata(draft, old);
      },
      validateUpdate: (request, old) => [
        ...validateKubeMetaUpdate(request, old),
        ...validateStatus(request.status, old.status),
      ],
    },
  },
  columns: [
    nameColumn,
    {
      name: "Driver",
      type: "string",
      description: "The driver to query pools for.",
      cell: ({ spec }) => spec.driver,
    },
    sumColumn("Total", "Total number of devices across all pools.", "totalDevices"),
    sumColumn("Available", "Number of available devices across all pools.", "availableDevices"),
    sumColumn("Allocated", "Number of allocated devices across all pools.", "allocatedDevices"),
    sumColumn(
      "Unavailable",
      "Number of unavailable devices across all pools.",
      "unavailableDevices",
    ),
    {
      name: "Errors",
      type: "string",
      description: "Number of pools with validation errors.",
      cell: ({ status }) =>
        countText(status, ({ validationError }) => (validationError === undefined ? 0 : 1)),
    },
    {
      name: "Pools",
      type: "integer",
      description: "Total number of matching pools.",
      cell: ({ status }) => status?.poolCount ?? 0,
    },
    {
      name: "Status",
      type: "string",
      description: "Processing status.",
      cell: ({ status }) => outcomeText(status),
    },
    {
      name: "Completed",
      type: "string",
      description: "Time since the observation completed.",
      cell: ({ status }, nowMs) => {
        const outcome = outcomeOf(status);
        if (outcome?.type !== "Complete") return NONE;
        return ageOf(outcome.lastTransitionTime ?? undefined, nowMs);
      },
    },
  ],
});

function validateSpec({ driver, poolName, limit = 0 }: ResourcePoolStatusRequestSpec) {
  const path = Path.of("spec");
  const errors = validateDriver(driver, path.child("driver"));
  if (poolName !== undefined) errors.push(...validatePool(poolName, path.child("poolName")));
  const at = path.child("limit");
  if (limit > LIMIT_MAX) {
    errors.push(invalid(at, limit, `must be less than or equal to ${LIMIT_MAX}`));
  }
  return [...errors, ...validateMinimum(limit, 1, at)];
}

function validateDriver(driver: string | undefined, path: Path): FieldError[] {
  if (driver === undefined || driver === "") return [required(path, "")];
  const errors: FieldError[] = [];
  if (utf8Length(driver) > NAME_BYTES_MAX) {
    errors.push(invalid(path, driver, `must be no more than ${NAME_BYTES_MAX} bytes`));
  }
  if (DOMAIN_ANY_CASE.test(driver)) return errors;
  const rule =
    "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
  return [...errors, invalid(path, driver, regexFault(rule, DOMAIN_SOURCE, ["Example.com"]))];
}

function validatePool(name: string, path: Path): FieldError[] {
  const errors: FieldError[] = [];
  if (utf8Length(name) > NAME_BYTES_MAX) errors.push(tooLong(path, NAME_BYTES_MAX));
  for (const [i, part] of name.split("/").entries()) {
    if (part === "") errors.push(invalid(path, name, `segment ${i}: must not be empty`));
    else {
      const faults = isDns1123Subdomain(part).map((fault) => `segment ${i}: ${fault}`);
      errors.push(...invalidEach(path, part, faults));
    }
  }
  return errors;
}

function validateMinimum(value: number | undefined, min: number, path: Path): FieldError[] {
  if (value === undefined || value >= min) return [];
  return [invalid(path, value, `must be greater than or equal to ${min}`)];
}

/** It is written once. */
function validateStatus(
  status: ResourcePoolStatusRequestStatus | undefined,
  old: ResourcePoolStatusRequestStatus | undefined,
): FieldError[] {
  const path = Path.of("status");
  const errors: FieldError[] = [];
  if (old !== undefined && !semanticEqual(status, old)) {
    const type = "*resource.v1alpha3.ResourcePoolStatusRequestStatus";
    errors.push(invalid(path, internalForm(type, status), "field is immutable"));
  }
  if (status === undefined) return errors;
  const { poolCount, pools = [], conditions = [] } = status;
  const conditionsPath = path.child("conditions");
  if (old === undefined) errors.push(...validateConditions(conditions, conditionsPath));
  if (poolCount === undefined) errors.push(required(path.child("poolCount"), ""));
  errors.push(...validateMinimum(poolCount, 0, path.child("poolCount")));
  const poolsPath = path.child("pools");
  if (pools.length > POOLS_MAX) errors.push(tooMany(poolsPath, pools.length, POOLS_MAX));
  else errors.push(...pools.flatMap((pool, i) => validatePoolStatus(pool, poolsPath.index(i))));
  if (conditions.length > CONDITIONS_MAX) {
    return [...errors, tooMany(conditionsPath, conditions.length, CONDITIONS_MAX)];
  }
  const types = conditions.map(({ type }) => type);
  for (const [i, condition] of conditions.entries()) {
    if (types.indexOf(condition.type) < i) {
      errors.push(duplicate(conditionsPath.index(i), condition));
    }
  }
  return errors;
}

function validatePoolStatus(pool: PoolStatus, path: Path): FieldError[] {
  const { driver, poolName = "", generation, nodeName, validationError = "" } = pool;
  const errors = validateDriver(driver, path.child("driver"));
  const namePath = path.child("poolName");
  errors.push(...(poolName === "" ? [required(namePath, "")] : validatePool(poolName, namePath)));
  const generationPath = path.child("generation");
  if (generation === 0) errors.push(required(generationPath, ""));
  errors.push(
    ...validateMinimum(generation, 0, generationPath),
    ...validateMinimum(pool.resourceSliceCount, 1, path.child("resourceSliceCount")),
    ...validateMinimum(pool.totalDevices, 0, path.child("totalDevices")),
    ...validateMinimum(pool.allocatedDevices, 0, path.child("allocatedDevices")),
    ...validateMinimum(pool.availableDevices, 0, path.child("availableDevices")),
    ...validateMinimum(pool.unavailableDevices, 0, path.child("unavailableDevices")),
  );
  if (nodeName !== undefined) {
    errors.push(...invalidEach(path.child("nodeName"), nodeName, isDns1123Subdomain(nodeName)));
  }
  if (utf8Length(validationError) > ERROR_BYTES_MAX) {
    errors.push(tooLong(path.child("validationError"), ERROR_BYTES_MAX));
  }
  return errors;
}

function sumColumn(
  name: string,
  description: string,
  field: "totalDevices" | "availableDevices" | "allocatedDevices" | "unavailableDevices",
): Column<ResourcePoolStatusRequest> {
  return {
    name,
    type: "string",
    description,
    cell: ({ status }) => countText(status, (pool) => pool[field] ?? 0),
  };
}

function countText(
  status: ResourcePoolStatusRequestStatus | undefined,
  count: (pool: PoolStatus) => number,
): string {
  if (status === undefined || outcomeOf(status)?.type === "Failed") return "-";
  return String((status.pools ?? []).reduce((sum, pool) => sum + count(pool), 0));
}

function outcomeOf(status: ResourcePoolStatusRequestStatus | undefined) {
  return (status?.conditions ?? []).find(
    (condition) =>
      condition.status === "True" && (condition.type === "Complete" || condition.type === "Failed"),
  );
}

function outcomeText(status: ResourcePoolStatusRequestStatus | undefined): string {
  const type = outcomeOf(status)?.type ?? "Pending";
  const shown = (status?.pools ?? []).length;
  const all = status?.poolCount ?? 0;
  return type === "Complete" && all > shown ? `Complete (${shown}/${all} pools)` : type;
}
