/**
 * Who holds which rules. Bindings are indexed by subject as they change, and what a user holds in a
 * namespace is put together once and kept until a role or binding changes.
 *
 * Promises:
 * 1. Answers reflect every change that the server's caches have shown.
 * 2. A question costs a few map lookups, however many roles there are. What is kept lives as long as
 *    the User it is about, for at most `NAMESPACES_MAX` namespaces and `QUESTIONS_MAX` questions each.
 */
import type { PolicyRule, RoleRef, Subject } from "#api/generated/rbac.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import { clusterRoleBindingKind, roleBindingKind } from "#api/kinds/rbac/v1/bindings.ts";
import { clusterRoleKind, roleKind } from "#api/kinds/rbac/v1/roles.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { notFoundStatus } from "#api/meta/status.ts";
import type { User } from "../request/request.ts";
import type { Objects } from "../storage/objects.ts";
import type { AccessAttributes } from "./authorizer.ts";
import { allowsAnyName, allowsName } from "./rule.ts";

const NAMESPACES_MAX = 4096;
const QUESTIONS_MAX = 512;
const GROUP = "rbac.authorization.k8s.io";

export type Access =
  | { readonly allowed: true; readonly reason: string }
  | { readonly allowed: false; readonly faults: readonly string[] };

/** A rule that applies to a user, and the binding that grants it. */
export interface Grant {
  readonly rule: PolicyRule;
  readonly source: string;
}

export interface Holdings {
  readonly grants: readonly Grant[];
  /** Bindings to roles that are not there. */
  readonly faults: readonly string[];
}

interface Binding extends KubeObject {
  readonly subjects?: readonly Subject[];
  readonly roleRef: RoleRef;
}

export class RbacRules {
  readonly #objects: Objects;
  /** Namespace ("" for the cluster) → subject → names of its bindings. */
  readonly #bySubject = new Map<string, Map<string, Set<string>>>();
  /** User → namespace → what was put together. Authenticators hand out one User per credential. */
  #held = new WeakMap<User, Map<string, HeldRules>>();

  constructor(objects: Objects) {
    this.#objects = objects;
  }

  /** Fills the index and follows changes until aborted. */
  start(signal: AbortSignal): void {
    const forget = (): void => {
      this.#held = new WeakMap();
    };
    const follow = (next: Binding | undefined, old: Binding | undefined): void => {
      if (old !== undefined) this.#unindex(old);
      if (next !== undefined) this.#index(next);
      forget();
    };
    this.#objects.onChange(clusterRoleBindingKind, follow, signal);
    this.#objects.onChange(roleBindingKind, follow, signal);
    this.#objects.onChange(clusterRoleKind, forget, signal);
    this.#objects.onChange(roleKind, forget, signal);
    for (const binding of this.#objects.list(clusterRoleBindingKind)) this.#index(binding);
    for (const binding of this.#objects.list(roleBindingKind)) this.#index(binding);
  }

  access(attributes: AccessAttributes): Access {
    return this.#heldBy(attributes.user, attributes.namespace).access(attributes);
  }

  /** Everything that the user holds in the namespace; "" asks for the cluster alone. */
  holdings(user: User, namespace: string): Holdings {
    return this.#heldBy(user, namespace);
  }

  /** The rules behind a reference, or why there are none. */
  rulesOf(ref: RoleRef, namespace: string): readonly PolicyRule[] | { readonly fault: string } {
    if (ref.kind !== "Role" && ref.kind !== "ClusterRole") {
      return { fault: `unsupported role reference kind: ${goQuote(ref.kind)}` };
    }
    const role =
      ref.kind === "Role"
        ? this.#objects.get(roleKind, namespace, ref.name)
        : this.#objects.get(clusterRoleKind, "", ref.name);
    if (role !== undefined) return role.rules ?? [];
    const resource = { group: GROUP, resource: ref.kind.toLowerCase() };
    return { fault: notFoundStatus(resource, ref.name).message! };
  }

  #heldBy(user: User, namespace: string): HeldRules {
    let inNamespaces = this.#held.get(user);
    if (inNamespaces === undefined) {
      inNamespaces = new Map();
      this.#held.set(user, inNamespaces);
    }
    let held = inNamespaces.get(namespace);
    if (held === undefined) {
      if (inNamespaces.size >= NAMESPACES_MAX) inNamespaces.clear();
      held = this.#putTogether(user, namespace);
      inNamespaces.set(namespace, held);
    }
    return held;
  }

  #putTogether(user: User, namespace: string): HeldRules {
    const grants: Grant[] = [];
    const faults: string[] = [];
    for (const scope of namespace === "" ? [""] : ["", namespace]) {
      const bySubject = this.#bySubject.get(scope);
      if (bySubject === undefined) continue;
      const names = new Set<string>();
      for (const subject of subjectKeysOf(user)) {
        for (const name of bySubject.get(subject) ?? []) names.add(name);
      }
      for (const name of [...names].sort()) {
        const binding = this.#binding(scope, name);
        if (binding === undefined) continue;
        const rules = this.rulesOf(binding.roleRef, scope);
        if ("fault" in rules) faults.push(rules.fault);
        else {
          const source = describeBinding(binding, user);
          for (const rule of rules) grants.push({ rule, source });
        }
      }
    }
    return new HeldRules(grants, faults);
  }

  #binding(namespace: string, name: string): Binding | undefined {
    return namespace === ""
      ? this.#objects.get(clusterRoleBindingKind, "", name)
      : this.#objects.get(roleBindingKind, namespace, name);
  }

  #index({ metadata, subjects = [] }: Binding): void {
    const scope = metadata.namespace ?? "";
    const bySubject = this.#bySubject.get(scope) ?? new Map<string, Set<string>>();
    this.#bySubject.set(scope, bySubject);
    for (const subject of subjects) {
      const key = subjectKey(subject, scope);
      if (key === undefined) continue;
      bySubject.set(key, (bySubject.get(key) ?? new Set()).add(metadata.name!));
    }
  }

  #unindex({ metadata, subjects = [] }: Binding): void {
    const scope = metadata.namespace ?? "";
    const bySubject = this.#bySubject.get(scope);
    for (const subject of subjects) {
      const key = subjectKey(subject, scope);
      const names = key === undefined ? undefined : bySubject?.get(key);
      names?.delete(metadata.name!);
      if (names?.size === 0) bySubject?.delete(key!);
    }
    if (bySubject?.size === 0) this.#bySubject.delete(scope);
  }
}

/** What one user holds in one namespace, with the questions that were asked before. */
class HeldRules implements Holdings {
  readonly grants: readonly Grant[];
  readonly faults: readonly string[];
  /** Question without the name → the grants that could say yes, up to the first for every name. */
  readonly #answers = new Map<string, readonly Grant[]>();

  constructor(grants: readonly Grant[], faults: readonly string[]) {
    this.grants = grants;
    this.faults = faults;
  }

  access(attributes: AccessAttributes): Access {
    const { verb, group, resource, subresource, path, isResource, name } = attributes;
    const question = isResource ? `${verb} ${group} ${resource} ${subresource}` : `${verb} ${path}`;
    let candidates = this.#answers.get(question);
    if (candidates === undefined) {
      if (this.#answers.size >= QUESTIONS_MAX) this.#answers.clear();
      candidates = this.#candidates(attributes);
      this.#answers.set(question, candidates);
    }
    const grant = candidates.find(({ rule }) => !isResource || allowsName(rule, name));
    return grant === undefined
      ? { allowed: false, faults: this.faults }
      : { allowed: true, reason: `RBAC: allowed by ${grant.source}` };
  }

  #candidates(attributes: AccessAttributes): readonly Grant[] {
    const matching = this.grants.filter(({ rule }) => allowsAnyName(rule, attributes));
    const forAll = matching.findIndex(({ rule }) => (rule.resourceNames ?? []).length === 0);
    return forAll === -1 ? matching : matching.slice(0, forAll + 1);
  }
}

function subjectKeysOf({ name, groups }: User): string[] {
  return [`User ${name}`, ...groups.map((group) => `Group ${group}`)];
}

/** A service account is the user with its long name. */
function subjectKey({ kind, name, namespace }: Subject, scope: string): string | undefined {
  if (kind === "User" || kind === "Group") return `${kind} ${name}`;
  const home = namespace || scope;
  if (kind !== "ServiceAccount" || home === "") return undefined;
  return `User system:serviceaccount:${home}:${name}`;
}

/** `RoleBinding "rb/ns" of Role "r" to User "u"`. */
function describeBinding({ metadata, roleRef, subjects = [] }: Binding, user: User): string {
  const scope = metadata.namespace ?? "";
  const keys = subjectKeysOf(user);
  const subject = subjects.find((one) => keys.includes(subjectKey(one, scope) ?? ""))!;
  const home = subject.namespace || scope;
  const who = subject.kind === "ServiceAccount" ? `${subject.name}/${home}` : subject.name;
  const binding = scope === "" ? metadata.name! : `${metadata.name}/${scope}`;
  return (
    `${scope === "" ? "ClusterRoleBinding" : "RoleBinding"} ${goQuote(binding)} of ` +
    `${roleRef.kind} ${goQuote(roleRef.name)} to ${subject.kind} ${goQuote(who)}`
  );
}
