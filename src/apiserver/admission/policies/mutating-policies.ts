/**
 * The plug-in MutatingAdmissionPolicy: applies the mutations of every policy that matches a request, once
 * for each binding and parameter object, each to the object as those before it left it.
 */

import type { ExpressionAuthorizer } from "#api/expressions/libraries/authorization.ts";
import type { Namespace } from "#api/generated/core.v1.ts";
import type { Status } from "#api/generated/meta.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import { mutatingAdmissionPolicyV1beta1Kind } from "#api/kinds/admissionregistration/v1/mutating-admission-policy.ts";
import { mutatingAdmissionPolicyBindingV1beta1Kind } from "#api/kinds/admissionregistration/v1/policy-bindings.ts";
import { failure, internalErrorStatus } from "#api/meta/status.ts";
import { jsonEqual } from "#api/patch/json-value.ts";
import type { AdmissionRequest, AdmissionTarget } from "../admission-request.ts";
import { isExemptFromPolicies } from "../exempt-requests.ts";
import { expressionAuthorizer, untilAnswered } from "../expressions/expression-authorizer.ts";
import { evaluateConditions } from "../expressions/match-conditions.ts";
import { requestInputs } from "../expressions/request-inputs.ts";
import { RequestVersions } from "../matching/request-versions.ts";
import { mutatedObject } from "../mutated-object.ts";
import type { AdmissionPlugin, AdmitVerdict } from "../plugin.ts";
import { refuse } from "../refuse.ts";
import { Reinvocation, type ReinvocationMemory } from "../reinvocation.ts";
import { compileMutatingPolicy, evaluateMutation, type MutatingPolicy } from "./mutating-policy.ts";
import { type PolicyBinding, type PolicyHook, PolicyHooks } from "./policy-hooks.ts";
import { matchPolicy, namespaceOf, type PolicyParts, paramsOfBinding } from "./policy-parts.ts";

const NAME = "MutatingAdmissionPolicy";

export function mutatingAdmissionPolicies(
  parts: PolicyParts,
  signal: AbortSignal,
): AdmissionPlugin {
  const kinds = {
    policy: mutatingAdmissionPolicyV1beta1Kind,
    binding: mutatingAdmissionPolicyBindingV1beta1Kind,
  };
  const hooks = new PolicyHooks(parts.objects, kinds, compileMutatingPolicy, signal);
  return {
    name: NAME,
    operations: ["CREATE", "UPDATE", "CONNECT"],
    admit(request, { reinvocation }) {
      const all = hooks.all();
      const { object } = request;
      if (all.length === 0 || object === undefined || isExemptFromPolicies(request)) {
        return undefined;
      }
      const memory = reinvocation?.get(NAME) as ReinvocationMemory | undefined;
      if (reinvocation !== undefined && memory === undefined) return undefined;
      return new Dispatch(parts, request, object, memory).run(all);
    },
  };
}

/** A policy that matches, with one binding and one parameter object. */
interface Invocation {
  readonly policy: MutatingPolicy;
  readonly binding: PolicyBinding;
  readonly target: AdmissionTarget;
  readonly params: KubeObject | undefined;
}

interface PolicyError {
  readonly message: string;
  readonly reason: string;
}

/** All policies on one request, in one pass. */
class Dispatch {
  readonly #parts: PolicyParts;
  readonly #reinvocation: Reinvocation;
  readonly #authorizer: ExpressionAuthorizer;
  readonly #errors: PolicyError[] = [];
  #object: KubeObject;
  /** With the object as the policies so far have left it. */
  #versions: RequestVersions;

  constructor(
    parts: PolicyParts,
    request: AdmissionRequest,
    object: KubeObject,
    memory: ReinvocationMemory | undefined,
  ) {
    this.#parts = parts;
    this.#object = object;
    this.#versions = new RequestVersions(request, parts.resources);
    this.#reinvocation = new Reinvocation(memory, object);
    this.#authorizer = expressionAuthorizer(parts.authorizer, request.user);
  }

  async run(hooks: readonly PolicyHook<MutatingPolicy>[]): Promise<AdmitVerdict> {
    const { request } = this.#versions;
    const invocations = hooks.flatMap((hook) => this.#invocations(hook));
    const namespace = namespaceOf(request, this.#parts.objects);
    if (invocations.length > 0 && !namespace.ok) return namespace;
    for (const invocation of invocations) {
      const refusal = await this.#invoke(invocation, namespace.ok ? namespace.value : undefined);
      if (refusal !== undefined) return failure(refusal);
    }
    if (this.#errors.length > 0) return failure(errorStatus(request, this.#errors));
    if (invocations.length === 0) return undefined;
    const reinvoke = this.#reinvocation.hasChanged;
    const memory = this.#reinvocation.memory(this.#object);
    return { ok: true, value: this.#object, reinvoke, memory };
  }

  #invocations({ policy, bindings }: PolicyHook<MutatingPolicy>): Invocation[] {
    const match = matchPolicy(policy, this.#versions, this.#parts);
    if (match.matches === false) return [];
    if (match.matches === "unknown") {
      this.#failed(policy, undefined, `failed to configure policy: ${match.error}`, "");
      return [];
    }
    return bindings.flatMap((binding) => {
      const found = paramsOfBinding(binding, policy.paramKind, this.#versions, this.#parts);
      if (found === undefined) return [];
      if (!found.ok) {
        this.#failed(policy, binding, `failed to configure binding: ${found.error}`, "");
        return [];
      }
      return found.params.map((params) => ({ policy, binding, target: match.target, params }));
    });
  }

  /** A Status refuses the request whatever failurePolicy says. */
  async #invoke(
    invocation: Invocation,
    namespace: Namespace | undefined,
  ): Promise<Status | undefined> {
    const { policy, binding } = invocation;
    const matches = await this.#conditionsHold(invocation);
    if (!matches) return undefined;
    const uid = uidOf(invocation);
    if (!this.#reinvocation.isDue(uid)) return undefined;
    const before = this.#object;
    for (const index of policy.mutations.keys()) {
      const startMs = this.#parts.clock.elapsedMs();
      const mutated = await this.#mutate(invocation, index, namespace);
      const seconds = (this.#parts.clock.elapsedMs() - startMs) / 1000;
      const error = mutated.ok ? "no_error" : mutated.isBudget ? "out_of_budget" : "invalid_error";
      this.#parts.metrics.mutatingCheck(policy.name, binding.name, error, seconds);
      if (!mutated.ok) {
        if (mutated.status !== undefined) return mutated.status;
        this.#failed(policy, binding, mutated.error, "Invalid");
      }
    }
    this.#reinvocation.wasCalled(uid, !jsonEqual(before, this.#object), policy.reinvocable);
    return undefined;
  }

  async #conditionsHold(invocation: Invocation): Promise<boolean> {
    const { policy, binding, target, params } = invocation;
    const { conditions, variables } = policy;
    if (conditions.length === 0) return true;
    const version = await this.#versions.as(target);
    if (!version.ok) return true; // the mutation says what is wrong
    const { request } = this.#versions;
    const authorizer = this.#authorizer;
    const inputs = requestInputs(request, version.value, { params, authorizer });
    const startMs = this.#parts.clock.elapsedMs();
    const result = await untilAnswered(() => evaluateConditions(conditions, inputs, variables));
    const seconds = (this.#parts.clock.elapsedMs() - startMs) / 1000;
    const { operation } = request;
    const place = { name: policy.name, kind: "policy", type: "admit", operation } as const;
    this.#parts.metrics.conditions(place, seconds, result.errorCount);
    if (result.outcome === "fault") this.#failed(policy, binding, result.fault, "Invalid");
    return result.outcome === "yes";
  }

  async #mutate(
    { policy, target, params }: Invocation,
    index: number,
    namespace: Namespace | undefined,
  ): Promise<Outcome> {
    const version = await this.#versions.as(target);
    if (!version.ok) return refusedBy(version.status);
    const { object } = version.value;
    if (object === undefined) return DONE;
    const given = { params, namespace, authorizer: this.#authorizer };
    const inputs = requestInputs(this.#versions.request, version.value, given);
    const mutation = policy.mutations[index]!;
    const result = await untilAnswered(() =>
      evaluateMutation(policy, mutation, version.value, object, inputs),
    );
    if (!result.ok) return { ...result, status: undefined };
    if (result.document === object) return DONE;
    const mutated = mutatedObject(result.document, version.value);
    if (!mutated.ok) return refusedBy(internalErrorStatus(mutated.error));
    const stored = await this.#versions.toStored(version.value, mutated.value);
    if (!stored.ok) return refusedBy(stored.status);
    this.#object = stored.value;
    const request = { ...this.#versions.request, object: stored.value };
    this.#versions = new RequestVersions(request, this.#parts.resources);
    return DONE;
  }

  #failed(
    policy: MutatingPolicy,
    binding: PolicyBinding | undefined,
    why: string,
    reason: string,
  ): void {
    if (policy.failsOpen) return;
    const who =
      binding === undefined
        ? `policy "${policy.name}"`
        : `policy '${policy.name}' with binding '${binding.name}'`;
    this.#errors.push({ message: `${who} denied request: ${why}`, reason });
  }
}

type Outcome =
  | { readonly ok: true }
  | {
      readonly ok: false;
      readonly error: string;
      readonly isBudget: boolean;
      readonly status: Status | undefined;
    };

const DONE: Outcome = { ok: true };

function refusedBy(status: Status): Outcome {
  return { ok: false, error: status.message ?? "", isBudget: false, status };
}

function uidOf({ policy, binding, params }: Invocation): string {
  const { namespace = "", name = "" } = params?.metadata ?? {};
  return `${policy.name}/${binding.name}/${namespace}/${name}`;
}

/** The first error is the message; all are causes. */
function errorStatus(request: AdmissionRequest, errors: readonly PolicyError[]): Status {
  const causes = errors.map(({ message }) => ({ message }));
  const status = refuse(request, "", ...causes);
  const [first] = errors;
  return { ...status, message: first!.message, reason: first!.reason || "Forbidden" };
}
