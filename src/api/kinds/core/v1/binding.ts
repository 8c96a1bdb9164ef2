/** v1 Binding: the order to run a pod on a node. It is only ever created, and not stored. */

import { nameColumn } from "#api/columns.ts";
import type { Binding } from "#api/generated/core.v1.ts";
import { defineKind } from "#api/kind.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { type FieldError, notSupported, required } from "#api/validation/field-error.ts";
import { pathSegmentName } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";

export const bindingKind = defineKind<Binding>({
  group: "",
  version: "v1",
  names: { kind: "Binding", plural: "bindings" },
  scope: "Namespaced",
  schema: builtInSchema("core.v1.Binding"),
  quota: "none",
  verbs: ["create"],
  nameRule: pathSegmentName,
  validate,
  columns: [nameColumn],
});

function validate({ target: { kind = "", name = "" } }: Binding): FieldError[] {
  const errors: FieldError[] = [];
  if (kind !== "" && kind !== "Node") {
    errors.push(notSupported(Path.of("target", "kind"), kind, ["Node", "<empty>"]));
  }
  if (name === "") errors.push(required(Path.of("target", "name"), ""));
  return errors;
}
