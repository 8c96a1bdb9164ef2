/** Shortcuts for tests of pods: what is wrong with this spec, this container, this volume? */

import type { Pod } from "#api/generated/core.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { type Outcome, runKind, type Write } from "./run-kind.ts";

type Fields = Readonly<Record<string, unknown>>;

const CONTAINER = { name: "c", image: "i" };

/** A pod with one container, unless the spec has others. */
export function podOf(spec: Fields = {}, metadata: Fields = {}): Fields {
  return { metadata, spec: { serviceAccountName: "sa", containers: [CONTAINER], ...spec } };
}

export function runPod(
  spec: Fields,
  metadata: Fields = {},
  write: Partial<Write> = {},
): Outcome<Pod> {
  return runKind(podKind, { object: podOf(spec, metadata), ...write });
}

export function podFaults(spec: Fields, metadata: Fields = {}): readonly string[] {
  return runPod(spec, metadata).faults;
}

/** Faults of a container, without where it stands. */
export function containerFaults(fields: Fields, spec: Fields = {}): readonly string[] {
  return podFaults({ ...spec, containers: [{ ...CONTAINER, ...fields }] }).map((fault) =>
    fault.replace(/^spec\.containers\[0\]\./, ""),
  );
}

/** Faults of a volume, without where it stands. */
export function volumeFaults(source: Fields): readonly string[] {
  return podFaults({ volumes: [{ name: "v", ...source }] }).map((fault) =>
    fault.replace(/^spec\.volumes\[0\]\.?/, ""),
  );
}
