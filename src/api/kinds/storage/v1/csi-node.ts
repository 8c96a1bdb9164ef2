/** storage.k8s.io/v1 CSINode: the storage drivers that a node has. */

import { ageColumn, nameColumn } from "#api/columns.ts";
import { RETURNS_OBJECT } from "#api/deletion-rules.ts";
import type { CSINode, CSINodeDriver } from "#api/generated/storage.v1.ts";
import { defineKind } from "#api/kind.ts";
import { validateCsiDriver } from "#api/kinds/core/v1/persistent-volume/disk-sources.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { duplicate, type FieldError, invalid, required } from "#api/validation/field-error.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import { validateFinalizers, validateKubeMeta } from "#api/validation/kube-meta.ts";
import { isQualifiedName, nameIsDnsSubdomain } from "#api/validation/names.ts";
import { validateNonNegative } from "#api/validation/object-meta.ts";
import { Path } from "#api/validation/path.ts";
import { utf8Length } from "#lib/text/utf8-length.ts";

const NODE_ID_MAX = 256;
const DRIVERS = Path.of("spec", "drivers");

export const csiNodeKind = defineKind<CSINode>({
  group: "storage.k8s.io",
  version: "v1",
  names: { kind: "CSINode", plural: "csinodes" },
  scope: "Cluster",
  schema: builtInSchema("storage.v1.CSINode"),
  deletion: RETURNS_OBJECT,
  nameRule: nameIsDnsSubdomain,

  validate: (node) => [...validateFinalizers(node.metadata), ...validateDrivers(node)],
  validateUpdate: (next, old) => [
    ...validateKubeMeta(next.metadata, { namespaced: false, nameRule: nameIsDnsSubdomain }),
    ...validateDrivers(next),
    ...(old.spec.drivers ?? []).flatMap((before) =>
      (next.spec.drivers ?? [])
        .filter(({ name }) => name === before.name)
        .flatMap((driver) => validateSameDriver(driver, before)),
    ),
  ],

  columns: [
    nameColumn,
    {
      name: "Drivers",
      type: "integer",
      description: "Drivers indicates the number of CSI drivers registered on the node",
      cell: ({ spec }) => (spec.drivers ?? []).length,
    },
    ageColumn,
  ],
});

/** How many volumes there may be is the one thing about a driver that changes. */
function validateSameDriver(next: CSINodeDriver, old: CSINodeDriver): FieldError[] {
  const { allocatable: _, ...now } = next;
  const { allocatable: __, ...before } = old;
  if (semanticEqual(now, before)) return [];
  const form = internalForm("storage.v1.CSINodeDriver", next) as object;
  return [invalid(DRIVERS, { ...form, Allocatable: null }, "field is immutable")];
}

function validateDrivers({ spec }: CSINode): FieldError[] {
  const seen = new Set<string>();
  return (spec.drivers ?? []).flatMap((driver, i) => {
    const path = DRIVERS.index(i);
    const errors = validateDriver(driver, path);
    if (seen.has(driver.name)) errors.push(duplicate(path.child("name"), driver.name));
    seen.add(driver.name);
    return [...errors, ...validateTopologyKeys(driver.topologyKeys ?? [], path)];
  });
}

function validateDriver({ name, nodeID, allocatable }: CSINodeDriver, path: Path): FieldError[] {
  const errors: FieldError[] = [];
  validateCsiDriver(name, path.child("name"), errors);
  if (nodeID === "") errors.push(required(path.child("nodeID"), ""));
  if (utf8Length(nodeID) > NODE_ID_MAX) {
    const detail = `must be ${NODE_ID_MAX} characters or less`;
    errors.push(invalid(path.child("nodeID"), nodeID, detail));
  }
  const count = allocatable?.count ?? 0;
  return [...errors, ...validateNonNegative(count, path.child("allocatable", "count"))];
}

function validateTopologyKeys(keys: readonly string[], path: Path): FieldError[] {
  return keys.flatMap((key, i) => {
    const errors: FieldError[] = [];
    if (key === "") errors.push(required(path, ""));
    if (keys.indexOf(key) < i) errors.push(duplicate(path, key));
    return [...errors, ...isQualifiedName(key).map((fault) => invalid(path, key, fault))];
  });
}
