/** The kinds of networking, policy, access control, admission, extension and device groups. */
import type { Kind } from "./kind.ts";

export const groupKinds: readonly Kind[] = [];
