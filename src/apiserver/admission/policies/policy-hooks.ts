/** Policies with the bindings that name them. Policies without a binding have no effect. */
import type {
  MatchResources,
  MutatingAdmissionPolicyBindingSpec,
  ParamRef,
  ValidatingAdmissionPolicyBindingSpec,
} from "#api/generated/admissionregistration.v1.ts";
import type { KindOf, KubeObject } from "#api/kind.ts";
import type { Objects } from "../../storage/objects.ts";
import { CompiledObjects } from "../compiled-objects.ts";
import { type CompiledMatch, compileMatch } from "../matching/match-request.ts";

type BindingSpec = ValidatingAdmissionPolicyBindingSpec | MutatingAdmissionPolicyBindingSpec;

export interface PolicyBinding {
  readonly name: string;
  readonly policyName: string;
  /** Undefined narrows nothing. */
  readonly match: CompiledMatch | undefined;
  readonly paramRef: ParamRef | undefined;
  /** Of validating policies. */
  readonly validationActions: readonly string[];
}

export interface PolicyHook<Policy> {
  readonly policy: Policy;
  readonly bindings: readonly PolicyBinding[];
}

export class PolicyHooks<
  P extends KubeObject,
  B extends KubeObject & { spec: BindingSpec },
  Policy extends { readonly name: string },
> {
  readonly #policies: CompiledObjects<P, Policy>;
  readonly #bindings: CompiledObjects<B, PolicyBinding>;
  #from: readonly unknown[] = [];
  #hooks: readonly PolicyHook<Policy>[] = [];

  constructor(
    objects: Objects,
    kinds: { readonly policy: KindOf<P>; readonly binding: KindOf<B> },
    compile: (policy: P) => Policy,
    signal: AbortSignal,
  ) {
    this.#policies = new CompiledObjects(objects, kinds.policy, compile, signal);
    this.#bindings = new CompiledObjects(objects, kinds.binding, compileBinding, signal);
  }

  all(): readonly PolicyHook<Policy>[] {
    const bindings = this.#bindings.all();
    if (bindings.length === 0) return [];
    const policies = this.#policies.all();
    if (this.#from[0] === policies && this.#from[1] === bindings) return this.#hooks;
    this.#from = [policies, bindings];
    this.#hooks = policies.flatMap((policy) => {
      const own = bindings.filter(({ policyName }) => policyName === policy.name);
      return own.length === 0 ? [] : [{ policy, bindings: own }];
    });
    return this.#hooks;
  }
}

/** Of a policy's matchConstraints or a binding's matchResources. */
export function compileMatchResources(resources: MatchResources): CompiledMatch {
  const { namespaceSelector, objectSelector, matchPolicy } = resources;
  return compileMatch({
    ...(namespaceSelector === undefined ? {} : { namespaceSelector }),
    ...(objectSelector === undefined ? {} : { objectSelector }),
    ...(matchPolicy === undefined ? {} : { matchPolicy }),
    rules: resources.resourceRules ?? [],
    excludedRules: resources.excludeResourceRules ?? [],
  });
}

function compileBinding({ metadata, spec }: KubeObject & { spec: BindingSpec }): PolicyBinding {
  const { policyName = "", matchResources, paramRef } = spec;
  return {
    name: metadata.name ?? "",
    policyName,
    match: matchResources === undefined ? undefined : compileMatchResources(matchResources),
    paramRef,
    validationActions: ("validationActions" in spec ? spec.validationActions : undefined) ?? [],
  };
}
