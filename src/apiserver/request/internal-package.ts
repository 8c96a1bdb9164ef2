/** The Go package in which upstream keeps its own form of a type, as messages name it. */
import type { StructSchema } from "#api/schema/schema.ts";

/** `core` for `io.k8s.api.core.v1.Pod`. */
export function internalPackageOf({ name }: StructSchema): string {
  const group = name.split(".").at(-3) ?? "";
  return PACKAGES[group] ?? group;
}

/** Events of both groups are one type. */
const PACKAGES: Readonly<Record<string, string>> = { events: "core" };
