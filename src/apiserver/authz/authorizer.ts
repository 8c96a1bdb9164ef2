/** Decides whether a user may do something. Authorizers are asked in order until one decides. */
import type { RequestInfo, User } from "../request.ts";

/** What someone wants to do: a request's info, or the spec of an access review. */
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
}

export type Decision =
  | { readonly decision: "allow"; readonly reason: string }
  | { readonly decision: "deny"; readonly reason: string }
  | { readonly decision: "noOpinion"; readonly reason: string };

export interface Authorizer {
  readonly name: string;
  /** Reads only the server's own caches, so it answers at once; webhooks answer later. */
  authorize(attributes: AccessAttributes): Decision | Promise<Decision>;
}
