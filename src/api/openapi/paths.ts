/** Path items as either document writes them. */
import { type Dialect, type Json, present, REFERENCE_PREFIX } from "./definition.ts";
import type { Operation, Parameter, PathItem } from "./operation.ts";

export function renderPaths(items: readonly PathItem[], dialect: Dialect): Json {
  const render = dialect === "v2" ? pathItemV2 : pathItemV3;
  return sorted(Object.fromEntries(items.map((item) => [item.path, render(item)])));
}

/** Members in the order of their names. */
export function sorted(members: Json): Json {
  return Object.fromEntries(Object.entries(members).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function pathItemV2(item: PathItem): Json {
  const { common, operations } = factored(item);
  const members = operations.map((operation): [string, Json] => {
    const body = operation.body && {
      name: "body",
      in: "body",
      ...(operation.body.required ? { required: true } : {}),
      schema: reference("v2", operation.body.definition),
    };
    const parameters = [...(body ? [body] : []), ...operation.parameters.map(parameterV2)];
    return [
      operation.method,
      present({
        description: operation.description,
        consumes: operation.consumes.length > 0 ? operation.consumes : undefined,
        produces: operation.produces,
        schemes: ["https"],
        tags: [operation.tag],
        operationId: operation.id,
        parameters: parameters.length > 0 ? parameters : undefined,
        responses: answersOf(operation, (schema) => ({ schema })),
        "x-kubernetes-action": operation.action,
        "x-kubernetes-group-version-kind": operation.kind,
      }),
    ];
  });
  return withCommon(members, common.map(parameterV2));
}

function pathItemV3(item: PathItem): Json {
  const { common, operations } = factored(item);
  const members = operations.map((operation): [string, Json] => {
    const body = operation.body && {
      content: contentOf(operation.consumes, reference("v3", operation.body.definition)),
      ...(operation.body.required ? { required: true } : {}),
    };
    const { parameters } = operation;
    return [
      operation.method,
      present({
        tags: [operation.tag],
        description: operation.description,
        operationId: operation.id,
        parameters: parameters.length > 0 ? parameters.map(parameterV3) : undefined,
        requestBody: body,
        responses: answersOf(
          operation,
          (schema) => ({
            content: contentOf(operation.produces, schema),
          }),
          "v3",
        ),
        "x-kubernetes-action": operation.action,
        "x-kubernetes-group-version-kind": operation.kind,
      }),
    ];
  });
  return withCommon(members, common.map(parameterV3));
}

function withCommon(members: readonly [string, Json][], common: readonly Json[]): Json {
  const parameters = common.length > 0 ? { parameters: common } : {};
  return { ...Object.fromEntries(members), ...parameters };
}

/** Parameters that all operations of a path share stand beside them. */
function factored({ operations }: PathItem): {
  common: readonly Parameter[];
  operations: readonly Operation[];
} {
  const [first, ...others] = operations;
  const key = (parameter: Parameter) => `${parameter.in} ${parameter.name}`;
  const has = (operation: Operation, parameter: Parameter) =>
    operation.parameters.some((p) => key(p) === key(parameter));
  const common = (first?.parameters ?? []).filter((p) => others.every((o) => has(o, p)));
  const keys = new Set(common.map(key));
  const own = operations.map((operation) => ({
    ...operation,
    parameters: byName(operation.parameters.filter((p) => !keys.has(key(p)))),
  }));
  return { common: byName(common), operations: own };
}

function byName(parameters: readonly Parameter[]): Parameter[] {
  const key = (parameter: Parameter) => `${parameter.name} ${parameter.in}`;
  return [...parameters].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}

function parameterV2({ name, in: place, type, description }: Parameter): Json {
  const required = place === "path" ? true : undefined;
  return present({ uniqueItems: true, type, description, name, in: place, required });
}

function parameterV3({ name, in: place, type, description }: Parameter): Json {
  const required = place === "path" ? true : undefined;
  return present({ name, in: place, description, required, schema: { type, uniqueItems: true } });
}

const ANSWER_WORDS: Readonly<Record<number, string>> = {
  200: "OK",
  201: "Created",
  202: "Accepted",
};

function answersOf(
  operation: Operation,
  render: (schema: Json) => Json,
  dialect: Dialect = "v2",
): Json {
  const schema =
    operation.answer === undefined ? { type: "string" } : reference(dialect, operation.answer);
  const answers = operation.answers.map((code): [string, Json] => [
    String(code),
    { description: ANSWER_WORDS[code]!, ...render(schema) },
  ]);
  return { ...Object.fromEntries(answers), "401": { description: "Unauthorized" } };
}

function contentOf(media: readonly string[], schema: Json): Json {
  return sorted(Object.fromEntries(media.map((type) => [type, { schema }])));
}

function reference(dialect: Dialect, definition: string): Json {
  return { $ref: REFERENCE_PREFIX[dialect] + definition };
}
