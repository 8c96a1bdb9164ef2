/**
 * The plug-in ValidatingAdmissionPolicy: evaluates every policy that matches a request, once for each
 * binding and parameter object. All failures are audited, warned of and counted; the first that denies is
 * the answer.
 */
import { encodeJson } from "#api/codec/json.ts";
import type { Status } from "#api/generated/meta.v1.ts";
import { validatingAdmissionPolicyBindingKind } from "#api/kinds/admissionregistration/v1/policy-bindings.ts";
import { validatingAdmissionPolicyKind } from "#api/kinds/admissionregistration/v1/validating-admission-policy.ts";
import type { ErrorType } from "../../metrics/policy-metrics.ts";
import type { AdmissionRequest } from "../admission-request.ts";
import { isExemptFromPolicies } from "../exempt-requests.ts";
import { expressionAuthorizer, untilAnswered } from "../expressions/expression-authorizer.ts";
import { requestInputs } from "../expressions/request-inputs.ts";
import { RequestVersions } from "../matching/request-versions.ts";
import type { AdmissionPlugin } from "../plugin.ts";
import { refuse } from "../refuse.ts";
import { type PolicyBinding, type PolicyHook, PolicyHooks } from "./policy-hooks.ts";
import {
  matchPolicy,
  namespaceOf,
  type PolicyMatch,
  type PolicyParts,
  paramsOfBinding,
} from "./policy-parts.ts";
import {
  compileValidatingPolicy,
  evaluateValidatingPolicy,
  type PolicyDecision,
  type PolicyOutcome,
  type ValidatingPolicy,
} from "./validating-policy.ts";

const ANNOTATION_BYTES_MAX = 10 * 1024;
const FAILURE_ANNOTATION = "validation.policy.admission.k8s.io/validation_failure";
const CODES: Readonly<Record<string, number>> = {
  Forbidden: 403,
  Unauthorized: 401,
  RequestEntityTooLarge: 413,
};

export function validatingAdmissionPolicies(
  parts: PolicyParts,
  signal: AbortSignal,
): AdmissionPlugin {
  const kinds = {
    policy: validatingAdmissionPolicyKind,
    binding: validatingAdmissionPolicyBindingKind,
  };
  const hooks = new PolicyHooks(parts.objects, kinds, compileValidatingPolicy, signal);
  return {
    name: "ValidatingAdmissionPolicy",
    validate(request) {
      const all = hooks.all();
      if (all.length === 0 || isExemptFromPolicies(request)) return undefined;
      const versions = new RequestVersions(request, parts.resources);
      const matched = all.flatMap((hook) => {
        const match = matchPolicy(hook.policy, versions, parts);
        return match.matches === false ? [] : [{ ...hook, match }];
      });
      return matched.length === 0 ? undefined : new Dispatch(parts, versions).run(matched);
    },
  };
}

type Matched = PolicyHook<ValidatingPolicy> & {
  readonly match: Exclude<PolicyMatch, { readonly matches: false }>;
};

interface Denial {
  readonly policy: string;
  readonly binding: string | undefined;
  readonly message: string;
  readonly reason: string;
}

/** All policies on one request. */
class Dispatch {
  readonly #parts: PolicyParts;
  readonly #versions: RequestVersions;
  readonly #request: AdmissionRequest;
  readonly #denials: Denial[] = [];

  constructor(parts: PolicyParts, versions: RequestVersions) {
    this.#parts = parts;
    this.#versions = versions;
    this.#request = versions.request;
  }

  async run(hooks: readonly Matched[]): Promise<Status | undefined> {
    const authorizer = expressionAuthorizer(this.#parts.authorizer, this.#request.user);
    for (const { policy, bindings, match } of hooks) {
      if (match.matches === "unknown") {
        this.#misconfigured(policy, undefined, match.error);
        continue;
      }
      const annotations = new Map<string, Set<string>>();
      for (const binding of bindings) {
        const params = paramsOfBinding(binding, policy.paramKind, this.#versions, this.#parts);
        if (params === undefined) continue;
        if (!params.ok) {
          this.#misconfigured(policy, binding, params.error);
          continue;
        }
        if (params.params.length === 0) continue;
        const version = await this.#versions.as(match.target);
        if (!version.ok) {
          const why = `failed to convert object version: ${version.status.message}`;
          this.#misconfigured(policy, binding, why);
          continue;
        }
        const namespace = namespaceOf(this.#request, this.#parts.objects);
        if (!namespace.ok) return namespace.status;
        for (const param of params.params) {
          const given = { params: param, namespace: namespace.value };
          const inputs = {
            all: requestInputs(this.#request, version.value, { ...given, authorizer }),
            withoutAuthorizer: requestInputs(this.#request, version.value, given),
          };
          const outcome = await untilAnswered(() =>
            evaluateValidatingPolicy(policy, inputs, this.#parts.clock),
          );
          this.#enforce(policy, binding, outcome);
          for (const { key, value } of outcome.annotations) {
            annotations.set(key, (annotations.get(key) ?? new Set()).add(shortened(value)));
          }
        }
      }
      for (const [key, values] of annotations) {
        this.#request.annotate?.(`${policy.name}/${key}`, [...values].join(", "));
      }
    }
    const [first] = this.#denials;
    return first && denialStatus(this.#request, first);
  }

  #misconfigured(policy: ValidatingPolicy, binding: PolicyBinding | undefined, why: string): void {
    if (policy.failsOpen) return;
    const what = binding === undefined ? "policy" : "binding";
    const message = `failed to configure ${what}: ${why}`;
    this.#denials.push({ policy: policy.name, binding: binding?.name, message, reason: "" });
  }

  #enforce(policy: ValidatingPolicy, binding: PolicyBinding, outcome: PolicyOutcome): void {
    const { metrics } = this.#parts;
    const names = { policy: policy.name, binding: binding.name };
    for (const [index, decision] of outcome.decisions.entries()) {
      if (decision.action === "admit") continue;
      const error = errorTypeOf(decision);
      const { seconds, message } = decision;
      if (decision.action === "ignore") {
        metrics.validatingCheck(policy.name, binding.name, error, "allow", seconds);
        continue;
      }
      for (const action of binding.validationActions) {
        const taken = this.#act(
          action,
          { ...names, message, reason: decision.reason },
          binding,
          index,
        );
        metrics.validatingCheck(policy.name, binding.name, error, taken, seconds);
      }
    }
    for (const message of outcome.annotationErrors) {
      this.#denials.push({ ...names, message, reason: "" });
      metrics.validatingCheck(policy.name, binding.name, "invalid_error", "deny", 0);
    }
    if (outcome.conditions !== undefined) {
      const place = { name: policy.name, kind: "policy", type: "validate" } as const;
      const { operation } = this.#request;
      metrics.conditions({ ...place, operation }, 0, outcome.conditions.errorCount);
    }
  }

  #act(
    action: string,
    denial: Denial,
    { name, validationActions }: PolicyBinding,
    expressionIndex: number,
  ): "deny" | "audit" | "warn" {
    const { policy, message } = denial;
    switch (action) {
      case "Audit": {
        const failure = { message, policy, binding: name, expressionIndex, validationActions };
        this.#request.annotate?.(FAILURE_ANNOTATION, encodeJson([failure]));
        return "audit";
      }
      case "Warn":
        this.#request.warn(
          `Validation failed for ValidatingAdmissionPolicy '${policy}' with binding '${name}': ${message}`,
        );
        return "warn";
      default:
        this.#denials.push(denial);
        return "deny";
    }
  }
}

function denialStatus(request: AdmissionRequest, denial: Denial): Status {
  const { policy, binding, message: why } = denial;
  const by = binding === undefined ? "" : ` with binding '${binding}'`;
  const message = `ValidatingAdmissionPolicy '${policy}'${by} denied request: ${why}`;
  const reason = denial.reason || "Invalid";
  return { ...refuse(request, message, { message }), reason, code: CODES[reason] ?? 422 };
}

function errorTypeOf(decision: Exclude<PolicyDecision, { readonly action: "admit" }>): ErrorType {
  if (decision.message.startsWith("compilation")) return "compile_error";
  if (decision.message.startsWith("validation failed due to running out of cost budget")) {
    return "out_of_budget";
  }
  return "invalid_error";
}

function shortened(value: string): string {
  const bytes = Buffer.from(value);
  return bytes.length <= ANNOTATION_BYTES_MAX
    ? value
    : bytes.subarray(0, ANNOTATION_BYTES_MAX).toString();
}
