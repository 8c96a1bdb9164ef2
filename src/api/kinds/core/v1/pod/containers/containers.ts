/** All containers of a pod, of whatever sort, with where each of them stands. */
import type { Container, EphemeralContainer, PodSpec } from "#api/generated/core.v1.ts";
import { Path } from "#api/validation/path.ts";

export type AnyContainer = Container | EphemeralContainer;

export interface PlacedContainer {
  readonly container: AnyContainer;
  readonly path: Path;
}

const LISTS = ["initContainers", "containers", "ephemeralContainers"] as const;

/** Init containers first, then the regular, then the ephemeral ones. */
export function placedContainers(spec: PodSpec, path: Path): readonly PlacedContainer[] {
  const placed: PlacedContainer[] = [];
  for (const field of LISTS) {
    const containers: readonly AnyContainer[] = spec[field] ?? [];
    if (containers.length === 0) continue;
    const at = path.child(field);
    for (let i = 0; i < containers.length; i++) {
      placed.push({ container: containers[i]!, path: at.index(i) });
    }
  }
  return placed;
}

/** Whether any container is so; most pods have none of what is asked for. */
export function someContainer(spec: PodSpec, is: (container: AnyContainer) => boolean): boolean {
  for (const field of LISTS) {
    for (const container of spec[field] ?? []) if (is(container)) return true;
  }
  return false;
}

export function allContainers(spec: PodSpec): readonly AnyContainer[] {
  return [
    ...(spec.initContainers ?? []),
    ...(spec.containers ?? []),
    ...(spec.ephemeralContainers ?? []),
  ];
}

/** An init container that goes on running beside the others. */
export function isSidecar({ restartPolicy }: Container): boolean {
  return restartPolicy === "Always";
}

/** Unless switched off, users inside a pod are the users of its host. */
export function usesHostUsers({ hostUsers }: PodSpec): boolean {
  return hostUsers !== false;
}

export const SPEC_PATH = Path.of("spec");
