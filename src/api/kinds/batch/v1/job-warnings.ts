/** What is unwise in a Job. */

import type { JobSpec } from "#api/generated/batch.v1.ts";
import type { DeleteOptions } from "#api/generated/meta.v1.ts";
import { templateWarnings } from "#api/kinds/core/v1/pod/warnings.ts";
import type { Path } from "#api/validation/path.ts";

const COMPLETIONS_MAX = 100_000;
const PARALLELISM_MAX = 10_000;

export function jobSpecWarnings(spec: JobSpec, path: Path): string[] {
  const { completionMode, completions = 0, parallelism = 0, template } = spec;
  const warnings = templateWarnings(template, path.child("template"));
  const isHuge = completions > COMPLETIONS_MAX && parallelism > PARALLELISM_MAX;
  if (completionMode !== "Indexed" || !isHuge) return warnings;
  const message =
    "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail";
  return [`${path}: ${message}`, ...warnings];
}

/** The dependents of a deleted Job stay unless the request says what becomes of them. */
export function warnAboutPods({
  propagationPolicy,
  orphanDependents,
}: DeleteOptions): readonly string[] {
  if (propagationPolicy !== undefined || orphanDependents !== undefined) return [];
  return [
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning",
  ];
}
