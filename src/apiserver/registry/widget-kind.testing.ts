/** A kind whose schema is made while the server runs, as that of a custom resource is. */
import { STATUS_RESETS_METADATA } from "#api/apply/reset-fields.ts";
import { defineKind, type Kind, type KubeObject } from "#api/kind.ts";
import { schemaOf } from "#api/schema/from-facts.ts";
import type { Field, ScalarSchema, Schema, StructSchema } from "#api/schema/schema.ts";
import { nameIsDnsSubdomain } from "#api/validation/names.ts";
import { finished } from "#lib/async/steps.ts";

export const WIDGETS = "/apis/example.com/v1/namespaces/default/widgets";

interface Widget extends KubeObject {
  readonly spec?: Readonly<Record<string, string>>;
  readonly status?: Readonly<Record<string, string>>;
}

export interface WidgetOptions {
  readonly version?: string;
  readonly plural?: string;
  /** Fields of the spec beside `color`. */
  readonly fields?: readonly string[];
  readonly storedAs?: Kind["storedAs"];
}

export function widgetKind(options: WidgetOptions = {}): Kind {
  const { version = "v1", plural = "widgets", fields = [], storedAs } = options;
  const schema = widgetSchema(version, ["color", ...fields]);
  return defineKind<Widget>({
    group: "example.com",
    version,
    names: { kind: "Widget", plural, short: ["wd"], categories: ["all"] },
    scope: "Namespaced",
    schema: () => schema,
    nameRule: nameIsDnsSubdomain,
    unconditionalUpdate: true,
    generation: true,
    storagePath: `example.com/${plural}`,
    storedForm: "json",
    resetFields: STATUS_RESETS_METADATA,
    custom: {
      appliedSchema: () => schema,
      isTerminating: () => false,
      prune: () => finished([]),
      defaultSteps: () => finished(undefined),
      fromStore: (object) => object,
      publishedSchema: () => ({ type: "object", properties: publishedFields(schema) }),
    },
    subresources: {
      status: {
        prepareUpdate: (draft, old) => {
          const { status } = draft;
          Object.assign(draft, structuredClone(old));
          if (status !== undefined) draft.status = status;
        },
      },
    },
    columns: [
      { name: "Name", type: "string", format: "name", cell: ({ metadata }) => metadata.name ?? "" },
      {
        name: "Color",
        type: "string",
        description: "of it",
        cell: ({ spec }) => spec?.color ?? "",
      },
    ],
    selectableFields: ({ spec }) => ({ "spec.color": spec?.color ?? "" }),
    ...(storedAs === undefined ? {} : { storedAs }),
  });
}

export function widget(name: string, spec: Readonly<Record<string, string>> = {}): object {
  return { apiVersion: "example.com/v1", kind: "Widget", metadata: { name }, spec };
}

const STRING: ScalarSchema = { shape: "scalar", scalar: "string", goType: "string" };

function widgetSchema(version: string, specFields: readonly string[]): StructSchema {
  const name = `com.example.${version}.Widget`;
  const texts = specFields.map((one) => fieldOf(one, STRING));
  return structOf(name, [
    fieldOf("kind", STRING),
    fieldOf("apiVersion", STRING),
    fieldOf("metadata", schemaOf("meta.v1.ObjectMeta")),
    fieldOf("spec", structOf(`${name}.spec`, texts)),
    fieldOf("status", structOf(`${name}.status`, [fieldOf("phase", STRING)])),
  ]);
}

function structOf(name: string, fields: readonly Field[]): StructSchema {
  return {
    shape: "struct",
    name,
    proto: "",
    goType: name,
    fields,
    byName: new Map(fields.map((field) => [field.name, field])),
    atomic: false,
    preserveUnknown: false,
  };
}

function fieldOf(name: string, schema: Schema): Field {
  return {
    name,
    number: 0,
    schema,
    pointer: true,
    omitEmpty: true,
    omitZero: true,
    required: false,
    enum: undefined,
    default: undefined,
    patch: undefined,
    inlinedBy: [],
  };
}

function publishedFields({ byName }: StructSchema): Readonly<Record<string, unknown>> {
  const spec = byName.get("spec")!.schema as StructSchema;
  const fields = spec.fields.map(({ name }) => [name, { type: "string" }]);
  return {
    metadata: { $ref: "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta" },
    spec: { type: "object", properties: Object.fromEntries(fields) },
  };
}
