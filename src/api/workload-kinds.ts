/** Pods and the kinds that make them. */
import { podKind } from "./core/v1/pod.ts";
import type { Kind } from "./kind.ts";

export const workloadKinds: readonly Kind[] = [podKind];
