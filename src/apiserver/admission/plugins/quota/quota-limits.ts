/**
 * What may be used only where a quota covers it, by the configuration of ResourceQuota: amounts by their
 * names, and pods and claims by the scopes they fall into.
 */
import type { ResourceQuota, ScopedResourceSelectorRequirement } from "#api/generated/core.v1.ts";
import type { Status } from "#api/generated/meta.v1.ts";
import { unknownStatus } from "#api/meta/status.ts";
import { excessAmounts, withoutZeros } from "#api/quota/amounts.ts";
import { isInAllScopes, scopesOf } from "#api/quota/measures.ts";
import { schemaOf } from "#api/schema/from-facts.ts";
import { required } from "#api/validation/field-error.ts";
import { formatFieldErrors } from "#api/validation/format-field-error.ts";
import { Path } from "#api/validation/path.ts";
import {
  type ConfigKind,
  configSchema,
  decodeConfigPart,
  listOf,
  STRING,
  struct,
} from "../../../config/config-file.ts";
import type { AdmissionRequest } from "../../admission-request.ts";
import { refuse } from "../../refuse.ts";
import type { Demand } from "./quota-charge.ts";

export interface QuotaLimit {
  readonly apiGroup?: string;
  readonly resource?: string;
  /** Parts of the names of amounts. */
  readonly matchContains?: readonly string[];
  readonly matchScopes?: readonly ScopedResourceSelectorRequirement[];
}

/** Throws when the configuration is none. */
export function readQuotaLimits(configuration: unknown): readonly QuotaLimit[] {
  if (configuration === undefined) return [];
  const decoded = decodeConfigPart(configuration, configKind());
  const { limitedResources = [] } = decoded as { limitedResources?: readonly QuotaLimit[] };
  const faults = limitedResources.flatMap(({ resource }, index) =>
    resource ? [] : [required(Path.of("limitedResources").index(index).child("resource"), "")],
  );
  if (faults.length > 0) throw new Error(formatFieldErrors(faults));
  return limitedResources;
}

export function uncoveredRefusal(
  request: AdmissionRequest,
  demand: Demand,
  quotas: readonly ResourceQuota[],
  limits: readonly QuotaLimit[],
): Status | undefined {
  if (limits.length === 0 || !costsMore(demand)) return undefined;
  const amounts = uncoveredAmounts(request, demand, quotas, limits);
  if (amounts.length > 0) {
    return refuse(request, `insufficient quota to consume: ${amounts.join(",")}`);
  }
  const scopes = uncoveredScopes(demand, quotas, limits);
  if (scopes.length === 0) return undefined;
  const shown = scopes.map(
    ({ scopeName, operator, values = [] }) => `{${scopeName} ${operator} [${values.join(" ")}]}`,
  );
  return unknownStatus(`insufficient quota to match these scopes: [${shown.join(" ")}]`);
}

function costsMore({ measure, object, old, nowMs }: Demand): boolean {
  const usage = measure.usage(object, nowMs);
  const added = old === undefined ? usage : excessAmounts(usage, measure.usage(old, nowMs));
  return Object.keys(withoutZeros(added)).length > 0;
}

function uncoveredAmounts(
  { kind }: AdmissionRequest,
  { measure, object, nowMs }: Demand,
  quotas: readonly ResourceQuota[],
  limits: readonly QuotaLimit[],
): string[] {
  const parts = limits
    .filter(
      ({ apiGroup = "", resource }) => apiGroup === kind.group && resource === kind.names.plural,
    )
    .flatMap(({ matchContains = [] }) => matchContains);
  const covered = new Set(
    quotas
      .filter((quota) => isInAllScopes(measure, quota, object))
      .flatMap(({ status }) => Object.keys(status.hard ?? {})),
  );
  return Object.keys(withoutZeros(measure.usage(object, nowMs)))
    .filter((name) => parts.some((part) => name.includes(part)) && !covered.has(name))
    .sort();
}

function uncoveredScopes(
  { measure, object }: Demand,
  quotas: readonly ResourceQuota[],
  limits: readonly QuotaLimit[],
): ScopedResourceSelectorRequirement[] {
  const applies = (scope: ScopedResourceSelectorRequirement): boolean =>
    measure.inScope(object, scope);
  const covered = new Set(
    quotas
      .flatMap(scopesOf)
      .filter(applies)
      .map(({ scopeName }) => scopeName),
  );
  return limits
    .flatMap(({ matchScopes = [] }) => matchScopes)
    .filter((scope) => applies(scope) && !covered.has(scope.scopeName));
}

function configKind(): ConfigKind {
  return {
    kind: "ResourceQuotaConfiguration",
    apiVersions: ["apiserver.config.k8s.io/v1"],
    schema: configSchema("v1.Configuration", {
      limitedResources: listOf(
        struct("v1.LimitedResource", {
          apiGroup: STRING,
          resource: STRING,
          matchContains: listOf(STRING),
          matchScopes: listOf(schemaOf("core.v1.ScopedResourceSelectorRequirement")),
        }),
      ),
    }),
  };
}
