/**
 * What can be typed at a place of a YAML object: the fields, and the values of enumerations, of its OpenAPI v3
 * schema. The place is found by indentation, so the text need not be valid YAML. Pure.
 */
export interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly allOf?: readonly Schema[];
  readonly $ref?: string;
  readonly required?: readonly string[];
  readonly "x-kubernetes-group-version-kind"?: readonly GroupVersionKind[];
}

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

export interface OpenApiDocument {
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

export interface Completion {
  readonly label: string;
  /** The type of the field, such as `string` or `[]object`. */
  readonly detail: string;
  readonly info: string;
  /** What is written: fields with a colon. */
  readonly text: string;
}

export interface Completions {
  /** The offset in the text where the typed word begins. */
  readonly from: number;
  readonly options: readonly Completion[];
}

const REF = "#/components/schemas/";
const INFO_LENGTH_MAX = 300;

export function schemaOfKind(
  document: OpenApiDocument,
  wanted: GroupVersionKind,
): Schema | undefined {
  return Object.values(document.components?.schemas ?? {}).find((schema) =>
    schema["x-kubernetes-group-version-kind"]?.some(
      ({ group, version, kind }) =>
        group === wanted.group && version === wanted.version && kind === wanted.kind,
    ),
  );
}

export function schemaCompletions(
  document: OpenApiDocument,
  root: Schema,
  text: string,
  offset: number,
): Completions {
  const before = text.slice(0, offset);
  const lineStart = before.lastIndexOf("\n") + 1;
  const line = before.slice(lineStart);
  const path = pathOf(before.slice(0, lineStart), line);
  const value = /^[\s-]*([\w./-]+):\s+(\S*)$/.exec(line);
  if (value !== null) {
    const field = schemaAt(document, root, [...path, value[1] ?? ""]);
    const from = offset - (value[2] ?? "").length;
    return { from, options: valuesOf(field) };
  }
  const word = /[\w./-]*$/.exec(line.replace(/^[\s-]*/, ""))?.[0] ?? "";
  const parent = schemaAt(document, root, path);
  return { from: offset - word.length, options: fieldsOf(document, parent) };
}

/** The fields that the line lies in, from the outside in. Items of lists are left out. */
function pathOf(above: string, line: string): readonly string[] {
  const path: string[] = [];
  let at = placeOf(line);
  for (const each of above.split("\n").reverse()) {
    const name = KEY.exec(each)?.[1];
    if (name === undefined) continue;
    const place = placeOf(each);
    if (at.dash === undefined) {
      if (place.key === at.key && place.dash !== undefined) at = place; // the first line of this item
      if (place.key >= at.key) continue;
    } else if (place.key > at.dash || place.dash === at.dash) {
      continue; // of another item
    }
    path.unshift(name);
    at = place;
  }
  return path;
}

const KEY = /^[\s-]*"?([\w./-]+)"?:/;

/** The column of the key, and that of the dash before it if the line begins a list item. */
function placeOf(line: string): { readonly key: number; readonly dash: number | undefined } {
  const start = /^(\s*)(-\s+)?/.exec(line) ?? ["", "", undefined];
  const spaces = (start[1] ?? "").length;
  return { key: (start[0] ?? "").length, dash: start[2] === undefined ? undefined : spaces };
}

function schemaAt(
  document: OpenApiDocument,
  root: Schema,
  path: readonly string[],
): Schema | undefined {
  let schema: Schema | undefined = resolved(document, root);
  for (const name of path) {
    if (schema === undefined) return undefined;
    const field: Schema | undefined =
      schema.properties?.[name] ??
      (typeof schema.additionalProperties === "object" ? schema.additionalProperties : undefined);
    schema = itemsOf(document, resolved(document, field));
  }
  return schema;
}

function itemsOf(document: OpenApiDocument, schema: Schema | undefined): Schema | undefined {
  return schema?.items === undefined ? schema : resolved(document, schema.items);
}

/** Follows `$ref`, also inside of `allOf`, where descriptions stand beside it. */
function resolved(document: OpenApiDocument, schema: Schema | undefined): Schema | undefined {
  const ref = schema?.$ref ?? schema?.allOf?.find(({ $ref }) => $ref !== undefined)?.$ref;
  if (schema === undefined || ref === undefined) return schema;
  const target = document.components?.schemas?.[ref.slice(REF.length)];
  return {
    ...target,
    ...(schema.description === undefined ? {} : { description: schema.description }),
  };
}

function fieldsOf(document: OpenApiDocument, schema: Schema | undefined): readonly Completion[] {
  return Object.entries(schema?.properties ?? {})
    .map(([name, field]) => {
      const known = resolved(document, field);
      return {
        label: name,
        detail: typeText(document, known) + (schema?.required?.includes(name) ? ", required" : ""),
        info: (field.description ?? known?.description ?? "").slice(0, INFO_LENGTH_MAX),
        text: `${name}:`,
      };
    })
    .toSorted((a, b) => (a.label < b.label ? -1 : 1));
}

function typeText(document: OpenApiDocument, schema: Schema | undefined): string {
  if (schema?.items !== undefined)
    return `[]${typeText(document, resolved(document, schema.items))}`;
  return schema?.type ?? (schema?.properties === undefined ? "" : "object");
}

function valuesOf(schema: Schema | undefined): readonly Completion[] {
  const values = schema?.type === "boolean" ? [true, false] : (schema?.enum ?? []);
  return values.map((value) => {
    const text = String(value);
    return { label: text, detail: "", info: "", text };
  });
}
