/** The columns in which a definition wants its objects to be shown. */
import { ageOf, nameColumn } from "#api/columns.ts";
import type { CustomResourceColumnDefinition } from "#api/generated/apiextensions.v1.ts";
import { evaluateJsonPath, jsonPathText } from "#api/json-path/evaluate.ts";
import { type JsonPathTemplate, parseJsonPath } from "#api/json-path/parse.ts";
import type { Column, KubeObject } from "#api/kind.ts";
import { parseTime } from "#api/meta/time.ts";

const AGE: CustomResourceColumnDefinition = {
  name: "Age",
  type: "date",
  jsonPath: ".metadata.creationTimestamp",
  description:
    "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
};

export function printerColumns(
  definitions: readonly CustomResourceColumnDefinition[] | undefined,
): readonly Column<KubeObject>[] {
  const columns: Column<KubeObject>[] = [nameColumn];
  for (const definition of definitions?.length ? definitions : [AGE]) {
    const parsed = parseJsonPath(`{${definition.jsonPath}}`);
    if (!parsed.ok) break; // definitions that cannot be read were accepted by old servers only
    columns.push(columnOf(definition, parsed.template));
  }
  return columns;
}

type Cell = ReturnType<Column<KubeObject>["cell"]>;

function columnOf(
  { name, type, format, description = "", priority, jsonPath }: CustomResourceColumnDefinition,
  template: JsonPathTemplate,
): Column<KubeObject> {
  const text = `Custom resource definition column (in JSONPath format): ${jsonPath}`;
  return {
    name,
    type: type as Column<KubeObject>["type"],
    ...(format === undefined ? {} : { format }),
    description: description === "" ? text : description,
    ...(priority === undefined ? {} : { priority: priority as 0 | 1 }),
    cell: (object, nowMs) => {
      const [found] = evaluateJsonPath(template, object);
      const first = found?.[0];
      return first === undefined ? null : cellOf(type, first, nowMs);
    },
  };
}

function cellOf(type: string, value: unknown, nowMs: number): Cell {
  switch (type) {
    case "string":
      return jsonPathText(value);
    case "integer":
      return typeof value === "number" || typeof value === "bigint"
        ? Math.trunc(Number(value))
        : null;
    case "number":
      return typeof value === "number" || typeof value === "bigint" ? Number(value) : null;
    case "boolean":
      return typeof value === "boolean" ? value : null;
    case "date":
      if (typeof value !== "string") return null;
      return parseTime(value).ok ? ageOf(value, nowMs) : "<invalid>";
    default:
      return null;
  }
}
