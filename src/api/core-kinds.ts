/** The kinds of the core group (but workloads), storage, scheduling, coordination and their like. */
import type { Kind } from "./kind.ts";

export const coreKinds: readonly Kind[] = [];
