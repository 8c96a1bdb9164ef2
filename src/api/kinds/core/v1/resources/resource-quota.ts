/** v1 ResourceQuota: how much a namespace may hold. */

import { ageColumn, nameColumn } from "#api/columns.ts";
import { RETURNS_OBJECT } from "#api/deletion-rules.ts";
import { keep } from "#api/draft.ts";
import type { ResourceList, ResourceQuota, ResourceQuotaSpec } from "#api/generated/core.v1.ts";
import { defineKind } from "#api/kind.ts";
import { objectCount } from "#api/quota/object-count.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { type FieldError, invalid, required } from "#api/validation/field-error.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import { validateFinalizers, validateKubeMetaUpdate } from "#api/validation/kube-meta.ts";
import { nameIsDnsSubdomain } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { compareAmounts, validateResourceQuantity } from "./resource-lists.ts";
import { isStandardQuotaResource, validateResourceName } from "./resource-names.ts";
import { roundToMillis } from "./round-resources.ts";

const POD_RESOURCES = [
  "pods",
  "cpu",
  "memory",
  "limits.cpu",
  "limits.memory",
  "requests.cpu",
  "requests.memory",
];

/** Which of the standard resources a scope can narrow down. */
const SCOPES: ReadonlyMap<string, readonly string[]> = new Map([
  ["Terminating", POD_RESOURCES],
  ["NotTerminating", POD_RESOURCES],
  ["BestEffort", ["pods"]],
  ["NotBestEffort", POD_RESOURCES],
  ["PriorityClass", POD_RESOURCES],
  ["CrossNamespacePodAffinity", POD_RESOURCES],
  ["VolumeAttributesClass", ["persistentvolumeclaims", "requests.storage"]],
]);
const CONFLICTING_SCOPES = [
  ["BestEffort", "NotBestEffort"],
  ["Terminating", "NotTerminating"],
] as const;
/** Scopes that a pod is in or not; there is nothing to compare. */
const PLAIN_SCOPES = [...CONFLICTING_SCOPES.flat(), "CrossNamespacePodAffinity"] as string[];

const SPEC = Path.of("spec");
const STATUS = Path.of("status");

export const resourceQuotaKind = defineKind<ResourceQuota>({
  group: "",
  version: "v1",
  names: { kind: "ResourceQuota", plural: "resourcequotas", short: ["quota"] },
  scope: "Namespaced",
  schema: builtInSchema("core.v1.ResourceQuota"),
  quota: objectCount("", "resourcequotas", "resourcequotas"),
  deletion: RETURNS_OBJECT,
  nameRule: nameIsDnsSubdomain,
  unconditionalUpdate: true,

  defaults({ spec, status }) {
    for (const list of [spec.hard, status.hard, status.used]) roundToMillis(list);
  },
  prepareCreate(draft) {
    draft.status = {};
  },
  validate: (quota) => [...validateFinalizers(quota.metadata), ...validateSpec(quota.spec)],
  prepareUpdate(draft, old) {
    draft.status = keep(old.status);
  },
  validateUpdate: (next, old) => [
    ...validateKubeMetaUpdate(next, old),
    ...validateSpec(next.spec),
    ...validateSameScopes(next.spec, old.spec),
  ],
  warnings: (quota, old) => (old === undefined ? requestsAboveLimits(quota.spec) : []),

  subresources: {
    status: {
      prepareUpdate: (draft, old) => {
        draft.spec = keep(old.spec);
      },
      validateUpdate: (next, old) => [
        ...validateKubeMetaUpdate(next, old),
        ...(next.metadata.resourceVersion ? [] : [required(Path.of("resourceVersion"), "")]),
        ...validateAmounts(next.status.hard, STATUS.child("hard")),
        ...validateAmounts(next.status.used, STATUS.child("used")),
      ],
    },
  },

  columns: [
    nameColumn,
    {
      name: "Request",
      type: "string",
      description:
        "Request represents a minimum amount of cpu/memory that a container may consume.",
      cell: (quota) => usageText(quota, (name) => !name.startsWith("limits.")),
    },
    {
      name: "Limit",
      type: "string",
      description:
        "Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node.",
      cell: (quota) => usageText(quota, (name) => name.startsWith("limits.")),
    },
    ageColumn,
  ],
});

function usageText({ status }: ResourceQuota, shown: (name: string) => boolean): string {
  const names = Object.keys(status.hard ?? {})
    .filter(shown)
    .sort();
  return names
    .map((name) => `${name}: ${status.used?.[name] ?? "0"}/${status.hard?.[name]}`)
    .join(", ");
}

function validateSpec(spec: ResourceQuotaSpec): FieldError[] {
  return [
    ...validateAmounts(spec.hard, SPEC.child("hard")),
    ...validateScopes(spec),
    ...validateScopeSelector(spec),
  ];
}

function validateAmounts(list: ResourceList | undefined, path: Path): FieldError[] {
  return Object.entries(list ?? {}).flatMap(([name, amount]) => {
    const at = path.key(name);
    const errors = validateResourceName(name, at);
    if (!name.includes("/") && !isStandardQuotaResource(name)) {
      errors.push(invalid(at, name, "must be a standard resource for quota"));
    }
    return [...errors, ...validateResourceQuantity(name, amount, at)];
  });
}

function validateScopes(spec: ResourceQuotaSpec): FieldError[] {
  const { scopes = [] } = spec;
  const path = SPEC.child("scopes");
  const errors: FieldError[] = [];
  for (const scope of scopes) {
    if (!SCOPES.has(scope)) errors.push(invalid(path, scopes, "unsupported scope"));
    for (const _ of resourcesOutside(scope, spec)) {
      errors.push(invalid(path, scopes, "unsupported scope applied to resource"));
    }
  }
  for (const _ of conflictsIn(scopes)) errors.push(invalid(path, scopes, "conflicting scopes"));
  return errors;
}

function validateScopeSelector(spec: ResourceQuotaSpec): FieldError[] {
  const path = SPEC.child("scopeSelector", "matchExpressions");
  const requirements = spec.scopeSelector?.matchExpressions ?? [];
  const errors: FieldError[] = [];
  for (const { scopeName, operator, values = [] } of requirements) {
    if (!SCOPES.has(scopeName)) {
      errors.push(invalid(path.child("scopeName"), scopeName, "unsupported scope"));
    }
    for (const _ of resourcesOutside(scopeName, spec)) {
      const selector = internalForm("core.v1.ScopeSelector", spec.scopeSelector);
      errors.push(invalid(path, selector, "unsupported scope applied to resource"));
    }
    if (PLAIN_SCOPES.includes(scopeName) && operator !== "Exists") {
      const detail =
        "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
      errors.push(invalid(path.child("operator"), operator, detail));
    }
    errors.push(...validateOperator(operator, values, path));
  }
  for (const _ of conflictsIn(requirements.map(({ scopeName }) => scopeName))) {
    errors.push(invalid(path, spec.scopes, "conflicting scopes"));
  }
  return errors;
}

function validateOperator(operator: string, values: readonly string[], path: Path): FieldError[] {
  switch (operator) {
    case "In":
    case "NotIn": {
      if (values.length > 0) return [];
      const detail =
        "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
      return [required(path.child("values"), detail)];
    }
    case "Exists":
    case "DoesNotExist": {
      if (values.length === 0) return [];
      const detail =
        "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
      return [invalid(path.child("values"), values, detail)];
    }
    default:
      return [invalid(path.child("operator"), operator, "not a valid selector operator")];
  }
}

/** The limited standard resources that a scope says nothing about. */
function resourcesOutside(scope: string, { hard = {} }: ResourceQuotaSpec): string[] {
  const inside = SCOPES.get(scope);
  if (inside === undefined) return [];
  return Object.keys(hard).filter(
    (name) => isStandardQuotaResource(name) && !inside.includes(name),
  );
}

function conflictsIn(scopes: readonly string[]): readonly unknown[] {
  return CONFLICTING_SCOPES.filter((pair) => pair.every((scope) => scopes.includes(scope)));
}

function validateSameScopes(next: ResourceQuotaSpec, old: ResourceQuotaSpec): FieldError[] {
  const [now, before] = [new Set(next.scopes), new Set(old.scopes)];
  if (now.size === before.size && [...now].every((scope) => before.has(scope))) return [];
  return [invalid(SPEC.child("scopes"), next.scopes, "field is immutable")];
}

/** Requests can never reach a quota that is above the quota of limits. */
function requestsAboveLimits({ hard = {} }: ResourceQuotaSpec): string[] {
  const warnings: string[] = [];
  for (const resource of ["cpu", "memory", "storage", "ephemeral-storage"]) {
    const short = resource === "cpu" || resource === "memory";
    const requestName =
      Object.hasOwn(hard, `requests.${resource}`) || !short ? `requests.${resource}` : resource;
    const [request, limit] = [hard[requestName], hard[`limits.${resource}`]];
    if (request === undefined || limit === undefined || compareAmounts(request, limit) <= 0) {
      continue;
    }
    warnings.push(
      `ResourceQuota ${requestName} (${request}) should be less than limits.${resource} (${limit})`,
    );
  }
  return warnings;
}
