import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { compile, extendEnvironment } from "#api/cel/environment.ts";
import { createProgram } from "#api/cel/evaluate/program.ts";
import { DYN } from "#api/cel/types/type.ts";
import { fromJson, toJson } from "#api/cel/values/json.ts";
import type { Value } from "#api/cel/values/value.ts";
import { baseEnvironment } from "./base-environment.ts";
import { typesIn } from "./declared-type.ts";
import { AUTHORIZER_TYPE, AuthorizationValue } from "./libraries/authorization.ts";
import { kubernetesCallCosts } from "./run-costs.ts";
import { schemaType } from "./schema-type.ts";
import { typedValue } from "./typed-data.ts";

const POD = {
  metadata: { name: "web", labels: { app: "web", "a/b": "c" } },
  spec: { replicas: 3, ratio: 0.5, containers: [{ image: "r.example.com/a:1" }] },
};
const AUTHORIZER = new AuthorizationValue(
  AUTHORIZER_TYPE,
  { decide: ({ verb, resource = "" }) => ({ allowed: verb === "get", reason: resource }) },
  {},
);
const ENVIRONMENT = extendEnvironment(baseEnvironment(), {
  object: DYN,
  authorizer: AUTHORIZER_TYPE,
});
const VARIABLES: Readonly<Record<string, Value>> = {
  object: fromJson(POD),
  authorizer: AUTHORIZER,
};

function run(text: string) {
  const compiled = compile(ENVIRONMENT, text);
  if (!compiled.ok) throw new Error(compiled.error);
  const program = createProgram(ENVIRONMENT, compiled.value, { callCosts: kubernetesCallCosts });
  return program.evaluate({ find: (name) => VARIABLES[name] });
}

describe("CEL: the libraries of Kubernetes", () => {
  const cases: { text: string; value?: unknown; error?: RegExp }[] = [
    { text: "object.spec.replicas + 1", value: 4 },
    { text: "object.spec.ratio < 1", value: true },
    { text: "object.metadata.labels['a/b']", value: "c" },
    { text: "object.spec.containers.all(c, c.image.startsWith('r.example.com/'))", value: true },
    { text: "object.spec.nope", error: /^no such key: nope$/ },
    { text: "has(object.spec.nope)", value: false },
    { text: "object.spec.?nope.orValue(7)", value: 7 },
    { text: "object.spec.containers.map(c, c.image.split(':')[1])", value: ["1"] },
    { text: "quantity('1Gi').isGreaterThan(quantity('1000M'))", value: true },
    { text: "quantity('1.5').isInteger()", value: false },
    { text: "quantity('2k').asInteger()", value: 2000 },
    { text: "quantity('1Gi').add(quantity('1Gi')) == quantity('2Gi')", value: true },
    { text: "quantity('x')", error: /quantities must match/ },
    { text: "ip('10.0.0.1').family()", value: 4 },
    { text: "ip('fe80::1').isLinkLocalUnicast()", value: true },
    { text: "ip.isCanonical('2001:DB8::1')", value: false },
    { text: "isIP('1.2.3')", value: false },
    { text: "cidr('10.0.0.0/8').containsIP('10.3.4.5')", value: true },
    { text: "cidr('10.0.0.0/8').containsCIDR('10.0.0.0/7')", value: false },
    { text: "string(cidr('10.1.2.3/16').masked())", value: "10.1.0.0/16" },
    { text: "url('https://u@h.example:81/p/q?a=1&a=2').getHost()", value: "h.example:81" },
    { text: "url('https://h:81/p/q?a=1&a=2').getPort()", value: "81" },
    { text: "url('https://h/p/q?a=1&a=2').getEscapedPath()", value: "/p/q" },
    { text: "url('https://h/p?a=1&a=2').getQuery()['a']", value: ["1", "2"] },
    { text: "isURL('h/p')", value: false },
    { text: "semver('1.2.3').isLessThan(semver('1.10.0'))", value: true },
    { text: "semver('v01.2', true).minor()", value: 2 },
    { text: "isSemver('1.2')", value: false },
    { text: "semver('1.0.0-rc.1').compareTo(semver('1.0.0'))", value: -1 },
    { text: "[3, 1, 2].max() + [3, 1, 2].sum()", value: 9 },
    { text: "['a', 'b'].isSorted()", value: true },
    { text: "[1, 2, 1].lastIndexOf(1)", value: 2 },
    { text: "'abc 123 def 456'.findAll('[0-9]+')", value: ["123", "456"] },
    { text: "'abc 123'.find('[0-9]+')", value: "123" },
    { text: "format.dns1123Label().validate('-a').hasValue()", value: true },
    { text: "!format.named('uuid').hasValue()", value: false },
    { text: "authorizer.group('').resource('pods').check('get').allowed()", value: true },
    { text: "authorizer.group('').resource('pods').check('list').reason()", value: "pods" },
    { text: "authorizer.path('').check('get').allowed()", error: /^path must not be empty$/ },
    { text: "sets.contains([1, 2, 3], [2, 3])", value: true },
    { text: "[3, 1, 2].sortBy(e, -e)", value: [3, 2, 1] },
    { text: "[1, 2, 2].distinct()", value: [1, 2] },
    { text: "{'a': 1, 'b': 2}.transformList(k, v, k + string(v))", value: ["a1", "b2"] },
    { text: "{'a': 1}.transformMap(k, v, v + 1)", value: { a: 2 } },
    { text: "'%s is %d of %.1f'.format(['a', 2, 3.25])", value: "a is 2 of 3.2" },
  ];
  for (const { text, value, error } of cases) {
    test(text, () => {
      const result = run(text);
      if (error !== undefined) assert.match(result.ok ? "" : result.error, error);
      else assert.deepEqual(result.ok ? toJson(result.value) : result.error, value);
    });
  }

  test("asking the authorizer is expensive", () => {
    assert.ok(run("authorizer.path('/a').check('get').allowed()").cost > 350_000);
  });
});

test("CEL: data has the types of its schema", () => {
  const type = schemaType(
    {
      type: "object",
      properties: {
        since: { type: "string", format: "date-time" },
        wait: { type: "string", format: "duration" },
        key: { type: "string", format: "byte" },
        share: { type: "number" },
        "in-use": { type: "boolean" },
        namespace: { type: "string" },
      },
    },
    false,
    "selfType",
  )!;
  const environment = extendEnvironment(baseEnvironment(), { self: type.type }, typesIn(type));
  const self = typedValue(
    {
      since: "2030-01-02T00:00:00Z",
      wait: "90s",
      key: "aGk=",
      share: 2,
      "in-use": true,
      namespace: "n",
    },
    type,
  );
  const text =
    "self.since.getFullYear() == 2030 && self.wait < duration('2m') && self.key == b'hi' && " +
    "self.share == 2.0 && self.in__dash__use && self.namespace == self.__namespace__";
  const compiled = compile(environment, text);
  assert.ok(compiled.ok, compiled.ok ? "" : compiled.error);
  const result = createProgram(environment, compiled.value).evaluate({ find: () => self });
  assert.deepEqual(result.ok ? result.value : result.error, true);
});
