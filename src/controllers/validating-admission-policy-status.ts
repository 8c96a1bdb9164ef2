/**
 * Notes which generation of a validating admission policy has been seen, and which of its
 * expressions do not fit the kinds that it matches: built-in ones, and those whose schemas the API
 * server publishes. As upstream, warnings are renewed only when the policy changes.
 */

import { policyWarnings } from "#api/expressions/policy-type-check.ts";
import { type PublishedKind, typedByPublication, typedKind } from "#api/expressions/typed-kind.ts";
import type { ValidatingAdmissionPolicy } from "#api/generated/admissionregistration.v1.ts";
import { validatingAdmissionPolicyKind } from "#api/kinds/admissionregistration/v1/validating-admission-policy.ts";
import { builtInKinds } from "#api/kinds/built-in-kinds.ts";
import { defineController, idle, type Outcome, ownKey } from "#runtime/controller.ts";
import { updateStatus } from "#runtime/writes.ts";
import { publishedKinds } from "./shared/published-kinds.ts";

interface State {
  readonly policy: ValidatingAdmissionPolicy;
  /** Of the groups and versions that the policy names, but for built-in ones. */
  readonly published: readonly PublishedKind[];
}

export const validatingAdmissionPolicyStatus = defineController<State | undefined>({
  name: "validatingadmissionpolicy-status-controller",
  rule: "the expressions of a policy are type-checked once for each generation",
  feeds: [{ kind: validatingAdmissionPolicyKind, keys: ownKey }],
  observe: async (caches, { name }, reader) => {
    const policy = caches(validatingAdmissionPolicyKind).get(undefined, name);
    if (policy === undefined) return undefined;
    const named = isSeen(policy) ? [] : foreignVersions(policy);
    const published = await Promise.all(named.map((one) => publishedKinds(reader, one)));
    return { policy, published: published.flat() };
  },
  decide,
});

function decide(state: State | undefined): Outcome {
  if (state === undefined || isSeen(state.policy)) return idle;
  const { policy, published } = state;
  const kinds = [...builtInKinds.map(typedKind), ...published.map(typedByPublication)];
  const warnings = policyWarnings(policy.spec, kinds);
  const typeChecking = warnings.length === 0 ? {} : { expressionWarnings: warnings };
  const observedGeneration = policy.metadata.generation ?? 0;
  const status = { ...policy.status, observedGeneration, typeChecking };
  return { writes: [updateStatus(validatingAdmissionPolicyKind, { ...policy, status })] };
}

function isSeen({ metadata, status }: ValidatingAdmissionPolicy): boolean {
  return (metadata.generation ?? 0) <= (status.observedGeneration ?? 0);
}

const VERSIONS_MAX = 10;

/** `group/version` of the rules and of the parameters, where no built-in kind has it. */
function foreignVersions({ spec }: ValidatingAdmissionPolicy): string[] {
  const rules = spec.matchConstraints?.resourceRules ?? [];
  const named = rules.flatMap(({ apiGroups, apiVersions }) =>
    (apiGroups ?? []).flatMap((group) => (apiVersions ?? []).map((of) => `${group}/${of}`)),
  );
  const all = new Set([...named, spec.paramKind?.apiVersion ?? ""]);
  const builtIn = new Set(builtInKinds.map(({ group, version }) => `${group}/${version}`));
  return [...all]
    .filter((one) => /^[^/*]+\/[^/*]+$/.test(one) && !builtIn.has(one))
    .slice(0, VERSIONS_MAX);
}
