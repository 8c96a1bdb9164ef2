/** CustomResourceDefinitions of the size of real ones, and objects of them. */

export const GROUP = "bench.example.com";
const FIELDS = 100;
/** Real definitions describe each field in a sentence or two. */
const DESCRIPTION =
  "Describes in a sentence or two what the controller makes of the field, which values it takes, and what happens when it is left out.";

/** About 40 KB: a spec of 100 fields in ten objects, five CEL rules, a status with conditions. */
export function definition(index: number): string {
  const kind = `Bench${index}`;
  return JSON.stringify({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${pluralOf(index)}.${GROUP}` },
    spec: {
      group: GROUP,
      scope: "Namespaced",
      names: {
        plural: pluralOf(index),
        singular: kind.toLowerCase(),
        kind,
        listKind: `${kind}List`,
      },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: schema() },
        },
      ],
    },
  });
}

function pluralOf(index: number): string {
  return `bench${index}s`;
}

export function pathOf(index: number): string {
  return `/apis/${GROUP}/v1/namespaces/default/${pluralOf(index)}`;
}

export function customObject(index: number, name: string): string {
  const metadata = { name };
  return JSON.stringify({
    apiVersion: `${GROUP}/v1`,
    kind: `Bench${index}`,
    metadata,
    spec: SPEC,
  });
}

/** Of the same size. */
export function configMapOfTheSameSize(name: string): string {
  return JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: DATA });
}

const SPEC = Object.fromEntries(
  Array.from({ length: FIELDS / 10 }, (_, part) => [
    `part${part}`,
    Object.fromEntries(
      Array.from({ length: 10 }, (_, n) => [`field${n}`, n % 2 === 0 ? `value-${n}` : n]),
    ),
  ]),
);
const DATA = Object.fromEntries(
  Array.from({ length: FIELDS }, (_, n) => [`part${n % 10}.field${n}`, `value-${n}`]),
);

function schema(): object {
  const parts = Array.from({ length: FIELDS / 10 }, (_, part) => [`part${part}`, partSchema(part)]);
  return {
    type: "object",
    description: DESCRIPTION,
    properties: {
      spec: {
        type: "object",
        description: DESCRIPTION,
        properties: Object.fromEntries(parts),
        "x-kubernetes-validations": RULES,
      },
      status: {
        type: "object",
        properties: {
          conditions: {
            type: "array",
            items: {
              type: "object",
              required: ["type", "status"],
              properties: { type: { type: "string" }, status: { type: "string" } },
            },
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
          },
        },
      },
    },
  };
}

function partSchema(part: number): object {
  const fields = Array.from({ length: 10 }, (_, n) => [
    `field${n}`,
    n % 2 === 0
      ? { type: "string", description: DESCRIPTION.repeat(2), maxLength: 63 }
      : { type: "integer", description: DESCRIPTION.repeat(2), minimum: 0, maximum: 1000 },
  ]);
  return {
    type: "object",
    description: `${DESCRIPTION} ${part}`,
    properties: Object.fromEntries(fields),
  };
}

const RULES = [
  { rule: "self.part0.field1 <= self.part1.field3", message: "field1 must not exceed field3" },
  { rule: "!has(self.part2) || self.part2.field0.startsWith('value')", message: "wrong prefix" },
  { rule: "self.part3.field0 == self.part4.field0", message: "the names must be equal" },
  { rule: "self.part5.field5 + self.part6.field7 < 1000", message: "the sum is too large" },
  { rule: "self.part7.field2 != '' && self.part8.field4 != ''", message: "both must be set" },
];
