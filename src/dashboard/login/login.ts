/** How a user of the dashboard logs in: what the page sends is exchanged for access to the API server. */
import type { ApiAccess } from "../api-access.ts";

export interface Login {
  /** What the page asks for: the link that `k8ts dashboard` printed, or a bearer token. */
  readonly by: "link" | "token";
  login(text: string, signal: AbortSignal): Promise<LoginResult>;
}

export type LoginResult =
  | { readonly ok: true; readonly access: UserAccess }
  | { readonly ok: false; readonly code: 401 | 429 | 502; readonly message: string };

export interface UserAccess {
  /** Whose sessions are counted together. */
  readonly user: string;
  readonly api: ApiAccess;
  /** Called when the session is over. */
  end(): void;
}
