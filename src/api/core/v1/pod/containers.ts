/** All containers of a pod, of whatever sort, with where each of them stands. */
import type { Container, EphemeralContainer, PodSpec } from "#api/generated/core.v1.ts";
import { Path } from "#api/validation/path.ts";

export type AnyContainer = Container | EphemeralContainer;

export interface PlacedContainer {
  readonly container: AnyContainer;
  readonly path: Path;
}

/** Init containers first, then the regular, then the ephemeral ones. */
export function* placedContainers(spec: PodSpec, path: Path): Generator<PlacedContainer> {
  for (const field of ["initContainers", "containers", "ephemeralContainers"] as const) {
    const containers: readonly AnyContainer[] = spec[field] ?? [];
    if (containers.length === 0) continue;
    const at = path.child(field);
    for (const [i, container] of containers.entries()) yield { container, path: at.index(i) };
  }
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
