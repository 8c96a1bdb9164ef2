/** What a webhook, policy or binding is about: its selectors and rules, parsed once, and matched to requests. */
import type { LabelSelector, Status } from "#api/generated/meta.v1.ts";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import {
  EVERYTHING,
  matchesLabels,
  type ParsedSelector,
  type Selector,
  selectorOf,
} from "#api/meta/label-selector.ts";
import { internalErrorStatus, notFoundStatus } from "#api/meta/status.ts";
import type { Objects } from "../../storage/objects.ts";
import type { AdmissionRequest, AdmissionTarget } from "../admission-request.ts";
import { matchesRule, type Rule } from "./match-rule.ts";
import type { RequestVersions } from "./request-versions.ts";

export interface MatchSpec {
  readonly namespaceSelector?: LabelSelector;
  readonly objectSelector?: LabelSelector;
  readonly matchPolicy?: string;
  /** None match everything, if `emptyMatchesAll`. */
  readonly rules?: readonly Rule[];
  readonly excludedRules?: readonly Rule[];
}

export interface CompiledMatch {
  readonly namespaces: ParsedSelector;
  readonly objects: ParsedSelector;
  readonly equivalent: boolean;
  readonly rules: readonly Rule[];
  readonly excludedRules: readonly Rule[];
}

/** Absent selectors select everything. */
export function compileMatch(spec: MatchSpec): CompiledMatch {
  return {
    namespaces: selectorOf(spec.namespaceSelector ?? {}),
    objects: selectorOf(spec.objectSelector ?? {}),
    equivalent: spec.matchPolicy === "Equivalent",
    rules: spec.rules ?? [],
    excludedRules: spec.excludedRules ?? [],
  };
}

export type Match =
  | { readonly matches: false }
  /** The version in which the request matches. */
  | { readonly matches: true; readonly target: AdmissionTarget }
  /** It would match, but a selector cannot be evaluated. */
  | { readonly matches: "unknown"; readonly status: Status };

const NO_MATCH: Match = Object.freeze({ matches: false });

export function matchRequest(
  match: CompiledMatch,
  versions: RequestVersions,
  objects: Objects,
  emptyMatchesAll: boolean,
): Match {
  const { request } = versions;
  const byNamespace = selectsNamespace(match.namespaces, request, objects);
  if (byNamespace === false) return NO_MATCH;
  const byObject = selectsObject(match.objects, request);
  if (byObject === false) return NO_MATCH;
  if (targetIn(match.excludedRules, match.equivalent, versions) !== undefined) return NO_MATCH;
  const target =
    match.rules.length === 0 && emptyMatchesAll
      ? request.requested
      : targetIn(match.rules, match.equivalent, versions);
  if (target === undefined) return NO_MATCH;
  if (byNamespace !== true) return { matches: "unknown", status: byNamespace };
  if (byObject !== true) return { matches: "unknown", status: byObject };
  return { matches: true, target };
}

/** A rule that names the request's own version comes before all that name an equivalent one. */
function targetIn(
  rules: readonly Rule[],
  equivalent: boolean,
  versions: RequestVersions,
): AdmissionTarget | undefined {
  const { request } = versions;
  const { requested } = request;
  if (rules.some((rule) => matchesRule(rule, request, requested.resource))) return requested;
  if (!equivalent || rules.length === 0) return undefined;
  for (const rule of rules) {
    const found = versions.equivalents().find((one) => matchesRule(rule, request, one.resource));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Cluster-scoped objects other than namespaces are never exempt. */
function selectsNamespace(
  selector: ParsedSelector,
  request: AdmissionRequest,
  objects: Objects,
): boolean | Status {
  const { namespace, requested, subresource, operation, object } = request;
  const isNamespace = requested.resource.resource === "namespaces";
  if (namespace === "" && !isNamespace) return true;
  if (!selector.ok) return internalErrorStatus(selector.error);
  if (isEverything(selector.value)) return true;
  // A namespace that is written is selected by the labels that it will have.
  const isWritten = operation === "CREATE" || operation === "UPDATE";
  if (isNamespace && subresource === "" && isWritten) {
    return matchesLabels(selector.value, object?.metadata.labels);
  }
  const found = objects.get(namespaceKind, "", namespace);
  if (found === undefined) {
    return notFoundStatus({ group: "", resource: "namespaces" }, namespace);
  }
  return matchesLabels(selector.value, found.metadata.labels);
}

function selectsObject(
  selector: ParsedSelector,
  { object, old }: AdmissionRequest,
): boolean | Status {
  if (!selector.ok) return internalErrorStatus(selector.error);
  if (isEverything(selector.value)) return true;
  return [object, old].some((one) => {
    // Options of connections have no metadata.
    const labelled = one as { readonly metadata?: { readonly labels?: Record<string, string> } };
    return (
      one?.metadata !== undefined &&
      matchesLabels(selector.value as Selector, labelled.metadata?.labels)
    );
  });
}

function isEverything(selector: Selector): boolean {
  return selector === EVERYTHING || selector.length === 0;
}
