/** Warnings about finalizers whose names may collide with those of others. */
import type { KubeObject } from "#api/kind.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { isQualifiedName } from "#api/validation/names.ts";

const STANDARD = new Set(["orphan", "foregroundDeletion", "kubernetes"]);
const ADVICE = "to avoid accidental conflicts with other finalizer writers";

/** `old`: of an update, whose finalizers are not new. */
export function finalizerWarnings(object: KubeObject, old: KubeObject | undefined): string[] {
  const known = new Set(old?.metadata.finalizers ?? []);
  const added = new Set((object.metadata.finalizers ?? []).filter((name) => !known.has(name)));
  return [...added].sort().flatMap(warningsOf);
}

function warningsOf(name: string): string[] {
  const start = `metadata.finalizers: ${goQuote(name)}:`;
  const faults = isQualifiedName(name).map((fault) => `${start} ${fault}`);
  if (name.includes("/") || STANDARD.has(name)) return faults;
  const wanted = name.includes(".")
    ? "prefer a domain-qualified finalizer name including a path (/)"
    : "prefer a domain-qualified finalizer name";
  return [...faults, `${start} ${wanted} ${ADVICE}`];
}
