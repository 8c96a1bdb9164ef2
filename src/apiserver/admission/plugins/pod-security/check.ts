/** What a rule about pods is, and the words that all rules share. */
import type { Container, Pod } from "#api/generated/core.v1.ts";

export type PodTemplate = Pick<Pod, "metadata" | "spec">;
export type SecurityContext = NonNullable<Container["securityContext"]>;

export interface Violation {
  readonly reason: string;
  readonly detail: string;
}

/** Undefined: nothing is wrong. `minor` is the version whose rules count. */
export type CheckPod = (pod: PodTemplate, minor: number) => Violation | undefined;

export interface Check {
  /** Violations are listed in the order of these ids. */
  readonly id: string;
  readonly level: "baseline" | "restricted";
  /** The first version that has the rule. */
  readonly since: number;
  /** A weaker rule of the baseline that this one stands for. */
  readonly replaces?: string;
  readonly check: CheckPod;
}

export type AnyContainer = Pick<Container, "name" | "securityContext" | "ports" | "lifecycle"> &
  Pick<Container, "livenessProbe" | "readinessProbe" | "startupProbe">;

export function containersOf({ spec }: PodTemplate): readonly AnyContainer[] {
  return [
    ...(spec.initContainers ?? []),
    ...(spec.containers ?? []),
    ...(spec.ephemeralContainers ?? []),
  ];
}

export function securityOf(container: AnyContainer): SecurityContext {
  return container.securityContext ?? {};
}

/** The names of the containers for which something holds. */
export function namesWhere(
  pod: PodTemplate,
  holds: (security: SecurityContext, container: AnyContainer) => boolean,
): string[] {
  const found = containersOf(pod).filter((one) => holds(securityOf(one), one));
  return found.map(({ name }) => name);
}

/** `container "a"`, `containers "a", "b"`. */
export function containerList(names: readonly string[]): string {
  return `${plural(names.length, "container", "containers")} ${quoteAll(names)}`;
}

/** `pod and container "a"`: the pod and containers with a violation. */
export function settersText(pod: boolean, containers: readonly string[]): string {
  const setters = [
    ...(pod ? ["pod"] : []),
    ...(containers.length > 0 ? [containerList(containers)] : []),
  ];
  return setters.join(" and ");
}

export function plural(count: number, one: string, many: string): string {
  return count === 1 ? one : many;
}

export function quoteAll(items: Iterable<string>): string {
  return [...items].map((item) => `"${item}"`).join(", ");
}

export function sorted(items: Iterable<string>): string[] {
  return [...new Set(items)].sort();
}

export function isWindows({ spec }: PodTemplate): boolean {
  return spec.os?.name === "windows";
}

/** Root inside a user namespace is unprivileged outside of it. */
export function hasUserNamespace({ spec }: PodTemplate): boolean {
  return spec.hostUsers === false;
}
