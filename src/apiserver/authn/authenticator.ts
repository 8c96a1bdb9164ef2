/** Authenticates requests. Authenticators are tried in order; the first that knows the user decides. */
import type { ApiRequest, User } from "../request/request.ts";

export type Authentication =
  | {
      readonly outcome: "known";
      readonly user: User;
      readonly audiences?: readonly string[];
      readonly notes?: AuthenticationNotes;
    }
  /** No credentials of this authenticator's form. */
  | { readonly outcome: "unknown" }
  /** Credentials of its form that are wrong: 401 unless another authenticator knows the caller. */
  | { readonly outcome: "refused"; readonly reason: string };

/** Warnings and audit annotations about accepted credentials. */
export interface AuthenticationNotes {
  /** For the client. */
  readonly warning?: string;
  /** For the audit log. */
  readonly annotations: Readonly<Record<string, string>>;
}

export interface Authenticator {
  readonly name: string;
  authenticate(request: ApiRequest): Authentication | Promise<Authentication>;
}
