import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { define, definition, WIDGETS, widget } from "../../crd/definition.testing.ts";
import {
  CONFIG_MAPS,
  type DynamicApi,
  type Json,
  startDynamicApi,
} from "../dynamic-admission.testing.ts";

const MATCH = {
  resourceRules: [
    {
      apiGroups: [""],
      apiVersions: ["v1"],
      operations: ["CREATE", "UPDATE"],
      resources: ["configmaps"],
    },
  ],
};
const PODS = {
  resourceRules: [
    { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] },
  ],
};

const apply = (expression: string) => ({
  patchType: "ApplyConfiguration",
  applyConfiguration: { expression },
});
const patch = (expression: string) => ({ patchType: "JSONPatch", jsonPatch: { expression } });
const policy = (mutations: Json[], more: Json = {}) => ({
  matchConstraints: MATCH,
  reinvocationPolicy: "Never",
  mutations,
  ...more,
});
const create = (api: DynamicApi, name: string, labels?: Json) =>
  api.ask("POST", CONFIG_MAPS, {
    body: { metadata: { name, ...(labels && { labels }) }, data: { x: "1" } },
  });

const ROWS: readonly {
  readonly name: string;
  readonly spec: Json;
  readonly labels?: Json;
  readonly want: Json;
}[] = [
  {
    name: "ApplyConfiguration merges the object",
    spec: policy([
      apply(
        "Object{metadata: Object.metadata{labels: {'made-by': request.userInfo.username != '' ? 'someone' : ''}}}",
      ),
    ]),
    labels: { own: "1" },
    want: { labels: { own: "1", "made-by": "someone" } },
  },
  {
    name: "JSONPatch adds, with jsonpatch.escapeKey",
    spec: policy([
      patch(
        "[JSONPatch{op: 'test', path: '/data/x', value: '1'}, " +
          "JSONPatch{op: 'add', path: '/metadata/labels', value: {'a': 'b'}}, " +
          "JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('example.com/c'), value: 'd'}]",
      ),
    ]),
    want: { labels: { a: "b", "example.com/c": "d" } },
  },
  {
    name: "a JSONPatch whose test fails changes nothing",
    spec: policy([
      patch(
        "[JSONPatch{op: 'test', path: '/data/x', value: '2'}, JSONPatch{op: 'remove', path: '/data/x'}]",
      ),
    ]),
    want: { data: { x: "1" } },
  },
  {
    name: "mutations see what those before them made, and variables",
    spec: policy(
      [
        apply("Object{metadata: Object.metadata{labels: {'n': variables.n}}}"),
        patch(
          "[JSONPatch{op: 'add', path: '/metadata/labels/m', value: object.metadata.labels.n + '-x'}]",
        ),
      ],
      { variables: [{ name: "n", expression: "object.metadata.name" }] },
    ),
    want: { labels: { n: "a", m: "a-x" } },
  },
  {
    name: "matchConditions that do not hold leave the policy out",
    spec: policy([patch("[JSONPatch{op: 'remove', path: '/data/x'}]")], {
      matchConditions: [{ name: "c", expression: "object.metadata.name == 'b'" }],
    }),
    want: { data: { x: "1" } },
  },
  {
    name: "an error denies with failurePolicy Fail",
    spec: policy([patch("[JSONPatch{op: 'remove', path: '/data/missing'}]")]),
    want: {
      code: 403,
      reason: "Invalid",
      message:
        "policy 'p' with binding 'p' denied request: JSON Patch: error in remove for path: '/data/missing': Unable to remove nonexistent key: missing: missing value",
    },
  },
  {
    name: "an error is passed over with failurePolicy Ignore",
    spec: policy([patch("[JSONPatch{op: 'remove', path: '/data/missing'}]")], {
      failurePolicy: "Ignore",
    }),
    want: { data: { x: "1" } },
  },
  {
    name: "an object type that does not match its field is refused",
    spec: policy([apply("Object{metadata: Object.data{labels: {'a': 'b'}}}")]),
    want: {
      code: 403,
      reason: "Invalid",
      message:
        "policy 'p' with binding 'p' denied request: type mismatch: unexpected type name \"Object.data\", expected \"Object.metadata\", which matches field name path from root Object type",
    },
  },
  {
    name: "a field that the kind does not have is refused",
    spec: policy([apply("Object{nothing: 'x'}")]),
    want: {
      code: 403,
      reason: "Invalid",
      message:
        "policy 'p' with binding 'p' denied request: error applying patch: failed to convert patch object to typed object: .nothing: field not declared in schema",
    },
  },
];

describe("MutatingAdmissionPolicy", () => {
  for (const { name, spec, labels, want } of ROWS) {
    test(name, async () => {
      await using api = await startDynamicApi();
      await api.createPolicy("mutating", "p", spec);
      const { code, body } = await create(api, "a", labels);
      assert.equal(code, want.code ?? 201, JSON.stringify(body));
      if (want.labels !== undefined) assert.deepEqual(body.metadata.labels, want.labels);
      if (want.data !== undefined) assert.deepEqual(body.data, want.data);
      if (want.message === undefined) return;
      const { message, reason, details } = body;
      assert.deepEqual({ message, reason }, { message: want.message, reason: want.reason });
      assert.deepEqual(details, { name: "a", kind: "configmaps", causes: [{ message }] });
    });
  }

  test("ApplyConfiguration adds a sidecar by key; atomic lists are refused", async () => {
    await using api = await startDynamicApi();
    const pod = { metadata: { name: "p" }, spec: { containers: [{ name: "a", image: "i" }] } };
    const pods = "/api/v1/namespaces/default/pods";
    await api.createPolicy("mutating", "sidecar", {
      ...policy([
        apply(
          "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'mesh', image: 'mesh:1'}]}}",
        ),
      ]),
      matchConstraints: PODS,
    });
    const { body } = await api.ask("POST", pods, { body: pod });
    const containers = body.spec.containers.map((one: Json) => [one.name, one.imagePullPolicy]);
    assert.deepEqual(containers, [
      ["a", "Always"],
      ["mesh", "IfNotPresent"],
    ]);
    await api.createPolicy("mutating", "atomic", {
      ...policy([
        apply(
          "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'a', args: ['x']}]}}",
        ),
      ]),
      matchConstraints: PODS,
    });
    const refused = await api.ask("POST", pods, { body: { ...pod, metadata: { name: "q" } } });
    assert.match(
      refused.body.message,
      /invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: \.spec\.containers\[0\]\.args$/,
    );
  });

  test("reinvocationPolicy IfNeeded sees what later policies made, params come by selector", async () => {
    await using api = await startDynamicApi();
    const paramKind = { apiVersion: "v1", kind: "Secret" };
    for (const name of ["one", "two"]) {
      await api.want(201, "POST", "/api/v1/namespaces/default/secrets", {
        body: { metadata: { name, labels: { param: "yes" } } },
      });
    }
    const paramRef = {
      selector: { matchLabels: { param: "yes" } },
      parameterNotFoundAction: "Deny",
    };
    const count =
      "[JSONPatch{op: 'add', path: '/data/' + string(size(object.data)), value: 'count'}]";
    await api.createPolicy(
      "mutating",
      "a-count",
      policy([patch(count)], { reinvocationPolicy: "IfNeeded" }),
    );
    const named =
      "[JSONPatch{op: 'add', path: '/data/param-' + params.metadata.name, value: 'yes'}]";
    await api.createPolicy("mutating", "b-params", policy([patch(named)], { paramKind }), {
      paramRef,
    });
    const { body } = await create(api, "a");
    assert.deepEqual(body.data, {
      x: "1",
      "1": "count",
      "param-one": "yes",
      "param-two": "yes",
      "4": "count",
    });
  });

  test("custom resources are changed, defaulted and pruned", async () => {
    await using api = await startDynamicApi();
    await define(api, definition());
    const rule = {
      apiGroups: ["example.com"],
      apiVersions: ["v1"],
      operations: ["CREATE"],
      resources: ["widgets"],
    };
    await api.createPolicy("mutating", "p", {
      ...policy([
        apply("Object{spec: Object.spec{parts: [Object.spec.parts{id: 'x'}]}}"),
        patch("[JSONPatch{op: 'add', path: '/spec/unknown', value: 1}]"),
      ]),
      matchConstraints: { resourceRules: [rule] },
    });
    const { body } = await api.ask("POST", WIDGETS, { body: widget("w") });
    assert.deepEqual(body.spec, { size: 1, color: "red", parts: [{ id: "x", n: 3 }] });
  });
});
