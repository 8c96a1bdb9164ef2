/** Pods and the kinds that make them. */
import type { Kind } from "./kind.ts";

export const workloadKinds: readonly Kind[] = [];
