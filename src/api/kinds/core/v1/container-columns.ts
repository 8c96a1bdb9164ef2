/** Columns that the tables of all workloads share. */
import { formatLabelSelector } from "#api/columns.ts";
import type { Container, PodTemplateSpec } from "#api/generated/core.v1.ts";
import type { LabelSelector } from "#api/generated/meta.v1.ts";
import type { Column, KubeObject } from "#api/kind.ts";

/** Names and images of the containers of a template, with -o wide unless `priority` says else. */
export function containerColumns<T extends KubeObject>(
  templateOf: (object: T) => PodTemplateSpec | undefined,
  priority: 0 | 1 = 1,
): readonly Column<T>[] {
  const containers = (object: T): readonly Container[] => templateOf(object)?.spec.containers ?? [];
  return [
    {
      name: "Containers",
      type: "string",
      description: "Names of each container in the template.",
      priority,
      cell: (object) =>
        containers(object)
          .map(({ name }) => name)
          .join(","),
    },
    {
      name: "Images",
      type: "string",
      description: "Images referenced by each container in the template.",
      priority,
      cell: (object) =>
        containers(object)
          .map(({ image = "" }) => image)
          .join(","),
    },
  ];
}

export function selectorColumn<T extends KubeObject>(
  describedBy: string,
  selectorOfObject: (object: T) => LabelSelector | undefined,
): Column<T> {
  return {
    name: "Selector",
    type: "string",
    describedBy,
    priority: 1,
    cell: (object) => formatLabelSelector(selectorOfObject(object)),
  };
}
