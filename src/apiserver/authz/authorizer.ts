/** Decides whether a user may do something. Authorizers are asked in order until one decides. */
import type { PolicyRule } from "#api/generated/rbac.v1.ts";
import type { FieldSelector } from "#api/meta/field-selector.ts";
import type { Selector } from "#api/meta/label-selector.ts";
import type { RequestInfo, User } from "../request/request.ts";

/** The attributes to authorize: those of a request, or of an access review. */
export interface AccessAttributes
  extends Pick<
    RequestInfo,
    | "isResource"
    | "verb"
    | "path"
    | "group"
    | "version"
    | "resource"
    | "subresource"
    | "namespace"
    | "name"
  > {
  readonly user: User;
  /** What a list, watch or deletecollection is narrowed to, if it says so in a form that can be read. */
  readonly fieldSelector?: FieldSelector;
  readonly labelSelector?: Selector;
}

export type Decision =
  | { readonly decision: "allow"; readonly reason: string }
  | { readonly decision: "deny"; readonly reason: string; readonly fault?: string }
  /** `fault`: why it could not be found out. */
  | { readonly decision: "noOpinion"; readonly reason: string; readonly fault?: string };

export interface Authorizer {
  readonly name: string;
  /** Synchronous for authorizers that read only the server's caches; a promise for webhooks. */
  authorize(attributes: AccessAttributes): Decision | Promise<Decision>;
  /** What it would allow the user in a namespace; authorizers without rules leave it out. */
  rulesFor?(user: User, namespace: string): RulesAnswer;
}

export interface RulesAnswer {
  readonly rules: readonly PolicyRule[];
  /** `rules` is not complete. */
  readonly incomplete: boolean;
  readonly faults: readonly string[];
}
