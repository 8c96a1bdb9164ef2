import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { define, definition, WIDGETS, widget } from "../../crd/definition.testing.ts";
import {
  CONFIG_MAPS,
  type DynamicApi,
  type Json,
  MATCH_CONFIG_MAPS,
  startDynamicApi,
} from "../dynamic-admission.testing.ts";

const create = (api: DynamicApi, name: string, data: Json = {}, metadata: Json = {}) =>
  api.ask("POST", CONFIG_MAPS, { body: { metadata: { name, ...metadata }, data } });

/** What a policy with one validation says of a ConfigMap named `a`. */
const ROWS: readonly {
  readonly name: string;
  readonly spec: Json;
  readonly binding?: Json;
  readonly data?: Json;
  readonly want: { readonly code: number; readonly says?: string; readonly warning?: string };
}[] = [
  {
    name: "an expression that is true admits",
    spec: { validations: [{ expression: "object.metadata.name == 'a'" }] },
    want: { code: 201 },
  },
  {
    name: "an expression that is false denies with 422 and shows the expression",
    spec: { validations: [{ expression: " object.metadata.name == 'b' " }] },
    want: { code: 422, says: "failed expression: object.metadata.name == 'b'" },
  },
  {
    name: "message and reason Forbidden give 403",
    spec: { validations: [{ expression: "false", message: "not today", reason: "Forbidden" }] },
    want: { code: 403, says: "not today" },
  },
  {
    name: "messageExpression wins over message",
    spec: {
      validations: [
        {
          expression: "false",
          message: "m",
          messageExpression: "'name is ' + object.metadata.name",
        },
      ],
    },
    want: { code: 422, says: "name is a" },
  },
  {
    name: "a messageExpression that fails falls back to message",
    spec: {
      validations: [
        { expression: "false", message: "m", messageExpression: "string(object.nothing)" },
      ],
    },
    want: { code: 422, says: "m" },
  },
  {
    name: "variables are read by validations and messages, and see each other",
    spec: {
      variables: [
        { name: "size", expression: "size(object.data)" },
        { name: "double", expression: "variables.size * 2" },
      ],
      validations: [
        { expression: "variables.double < 4", messageExpression: "string(variables.double)" },
      ],
    },
    data: { x: "1", y: "2" },
    want: { code: 422, says: "4" },
  },
  {
    name: "a variable that fails is named",
    spec: {
      variables: [{ name: "v", expression: "object.data.missing" }],
      validations: [{ expression: "variables.v == 'x'" }],
    },
    data: { x: "1" },
    want: {
      code: 422,
      says: "expression 'variables.v == 'x'' resulted in error: composited variable \"v\" fails to evaluate: no such key: missing",
    },
  },
  {
    name: "a run-time error denies with failurePolicy Fail",
    spec: { validations: [{ expression: "object.data.missing == 'x'" }] },
    data: { x: "1" },
    want: {
      code: 422,
      says: "expression 'object.data.missing == 'x'' resulted in error: no such key: missing",
    },
  },
  {
    name: "a run-time error admits with failurePolicy Ignore",
    spec: {
      failurePolicy: "Ignore",
      validations: [{ expression: "object.data.missing == 'x'" }],
    },
    data: { x: "1" },
    want: { code: 201 },
  },
  {
    name: "matchConditions that do not hold leave the policy out",
    spec: {
      matchConditions: [{ name: "only-b", expression: "object.metadata.name == 'b'" }],
      validations: [{ expression: "false" }],
    },
    want: { code: 201 },
  },
  {
    name: "namespaceObject, request and oldObject are there",
    spec: {
      validations: [
        {
          expression:
            "namespaceObject.metadata.labels.team == 'blue' && request.operation == 'CREATE' && " +
            "request.resource.resource == 'configmaps' && request.name == 'a' && oldObject == null && " +
            "size(request.userInfo.username) > 0 && !request.dryRun",
        },
      ],
    },
    want: { code: 201 },
  },
  {
    name: "authorizer answers with the server's authorizer",
    spec: {
      validations: [
        {
          expression:
            "authorizer.group('').resource('configmaps').namespace('default').check('delete').allowed() && " +
            "authorizer.requestResource.check('get').allowed()",
        },
      ],
    },
    want: { code: 201 },
  },
  {
    name: "validationActions Warn warns and admits",
    spec: { validations: [{ expression: "false", message: "careful" }] },
    binding: { validationActions: ["Warn"] },
    want: {
      code: 201,
      warning: "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p': careful",
    },
  },
  {
    name: "excludeResourceRules outweigh resourceRules",
    spec: {
      matchConstraints: {
        ...MATCH_CONFIG_MAPS,
        excludeResourceRules: [{ ...MATCH_CONFIG_MAPS.resourceRules[0], resourceNames: ["a"] }],
      },
      validations: [{ expression: "false" }],
    },
    want: { code: 201 },
  },
  {
    name: "a namespaceSelector that does not select the namespace leaves the policy out",
    spec: {
      matchConstraints: {
        ...MATCH_CONFIG_MAPS,
        namespaceSelector: { matchLabels: { team: "red" } },
      },
      validations: [{ expression: "false" }],
    },
    want: { code: 201 },
  },
  {
    name: "matchResources of the binding narrow the policy",
    spec: { validations: [{ expression: "false" }] },
    binding: { matchResources: { objectSelector: { matchLabels: { checked: "yes" } } } },
    want: { code: 201 },
  },
  {
    name: "expressions that cost too much are stopped",
    spec: {
      validations: [
        {
          expression:
            "[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, [1,2,3,4,5,6,7,8,9,10].all(c, " +
            "[1,2,3,4,5,6,7,8,9,10].all(d, [1,2,3,4,5,6,7,8,9,10].all(e, [1,2,3,4,5,6,7,8,9,10].all(f, a+b+c+d+e+f > 0))))))",
        },
      ],
    },
    want: { code: 422, says: "operation cancelled: actual cost limit exceeded" },
  },
  {
    name: "a paramKind that is unknown denies",
    spec: {
      paramKind: { apiVersion: "example.com/v1", kind: "Nothing" },
      validations: [{ expression: "params.x == 1" }],
    },
    binding: { paramRef: { name: "x", parameterNotFoundAction: "Allow" } },
    want: {
      code: 422,
      says: "failed to configure policy: failed to find resource referenced by paramKind: 'example.com/v1, Kind=Nothing'",
    },
  },
];

describe("ValidatingAdmissionPolicy", () => {
  for (const { name, spec, binding, data, want } of ROWS) {
    test(name, async () => {
      await using api = await startDynamicApi();
      await api.createPolicy("validating", "p", spec, binding);
      const { code, body, warnings } = await create(api, "a", data);
      assert.equal(code, want.code, JSON.stringify(body));
      if (want.says !== undefined) assert.ok(body.message.endsWith(want.says), body.message);
      assert.deepEqual(warnings, want.warning === undefined ? [] : [want.warning]);
    });
  }

  test("a denial is a Status with the policy, the binding and a cause", async () => {
    await using api = await startDynamicApi();
    await api.createPolicy("validating", "p", { validations: [{ expression: "false" }] });
    const { body } = await create(api, "a");
    const message =
      "ValidatingAdmissionPolicy 'p' with binding 'p' denied request: failed expression: false";
    assert.deepEqual(body, {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: `configmaps "a" is forbidden: ${message}`,
      reason: "Invalid",
      details: { name: "a", kind: "configmaps", causes: [{ message }] },
      code: 422,
    });
    assert.match(
      api.metrics.text(),
      /apiserver_validating_admission_policy_check_total\{policy="p",policy_binding="p",error_type="invalid_error",enforcement_action="deny"\} 1/,
    );
  });

  test("params: by name, by selector, and parameterNotFoundAction", async () => {
    await using api = await startDynamicApi();
    const limit = (name: string, max: string) =>
      create(api, name, { max }, { labels: { limits: "yes" } });
    const spec = {
      paramKind: { apiVersion: "v1", kind: "ConfigMap" },
      matchConditions: [{ name: "c", expression: "!has(object.metadata.labels)" }],
      validations: [
        {
          expression: "size(object.data) <= int(params.data.max)",
          messageExpression: "'at most ' + params.data.max",
        },
      ],
    };
    const binding = { paramRef: { name: "limit", parameterNotFoundAction: "Deny" } };
    await api.createPolicy("validating", "named", spec, binding);
    const missing = await create(api, "a", { x: "1", y: "2" });
    assert.match(
      missing.body.message,
      /failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction/,
    );
    await api.want(
      200,
      "DELETE",
      "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/named",
    );
    await limit("limit", "1");
    await limit("limit-2", "5");
    await api.createPolicy("validating", "selected", spec, {
      paramRef: { selector: { matchLabels: { limits: "yes" } }, parameterNotFoundAction: "Allow" },
    });
    assert.match((await create(api, "a", { x: "1", y: "2" })).body.message, /: at most 1$/);
    assert.equal((await create(api, "b", { x: "1" })).code, 201);
  });

  test("auditAnnotations and validationActions Audit annotate the audit event", async () => {
    await using api = await startDynamicApi();
    const spec = {
      validations: [{ expression: "false", message: "no" }],
      auditAnnotations: [{ key: "who", valueExpression: "'made ' + object.metadata.name" }],
    };
    await api.createPolicy("validating", "p", spec, { validationActions: ["Audit"] });
    assert.equal((await create(api, "a")).code, 201);
    assert.deepEqual(api.annotations.at(-1), {
      "validation.policy.admission.k8s.io/validation_failure": JSON.stringify([
        {
          message: "no",
          policy: "p",
          binding: "p",
          expressionIndex: 0,
          validationActions: ["Audit"],
        },
      ]),
      "p/who": "made a",
    });
  });

  test("deletes are denied by oldObject, policies themselves never", async () => {
    await using api = await startDynamicApi();
    await create(api, "keep");
    const rule = { apiGroups: ["*"], apiVersions: ["*"], operations: ["DELETE"], resources: ["*"] };
    await api.createPolicy("validating", "p", {
      matchConstraints: { resourceRules: [rule] },
      validations: [{ expression: "object != null || oldObject.metadata.name != 'keep'" }],
    });
    assert.equal((await api.ask("DELETE", `${CONFIG_MAPS}/keep`)).code, 422);
    const policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
    await api.want(200, "DELETE", `${policies}/p`);
    assert.equal((await api.ask("DELETE", `${CONFIG_MAPS}/keep`)).code, 200);
  });

  test("a policy with matchPolicy Equivalent sees the version that its rule names", async () => {
    await using api = await startDynamicApi();
    const rule = {
      apiGroups: ["autoscaling"],
      apiVersions: ["v1"],
      operations: ["CREATE"],
      resources: ["horizontalpodautoscalers"],
    };
    await api.createPolicy("validating", "p", {
      matchConstraints: { resourceRules: [rule] },
      validations: [
        {
          expression:
            "object.apiVersion == 'autoscaling/v1' && object.spec.targetCPUUtilizationPercentage < 50 && request.requestKind.version == 'v2'",
        },
      ],
    });
    const scaler = (averageUtilization: number) => ({
      metadata: { name: `h${averageUtilization}` },
      spec: {
        maxReplicas: 3,
        scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" },
        metrics: [
          {
            type: "Resource",
            resource: { name: "cpu", target: { type: "Utilization", averageUtilization } },
          },
        ],
      },
    });
    const path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
    assert.equal((await api.ask("POST", path, { body: scaler(40) })).code, 201);
    assert.equal((await api.ask("POST", path, { body: scaler(60) })).code, 422);
  });

  test("a policy on custom resources, with params of a custom kind", async () => {
    await using api = await startDynamicApi();
    await define(api, definition());
    await api.want(201, "POST", WIDGETS, { body: widget("limit", { size: 3 }) });
    const rule = {
      apiGroups: ["example.com"],
      apiVersions: ["v1"],
      operations: ["CREATE"],
      resources: ["widgets"],
    };
    const spec = {
      paramKind: { apiVersion: "example.com/v1", kind: "Widget" },
      matchConstraints: { resourceRules: [rule] },
      validations: [{ expression: "object.spec.size <= params.spec.size" }],
    };
    const paramRef = { name: "limit", namespace: "default", parameterNotFoundAction: "Deny" };
    await api.createPolicy("validating", "p", spec, { paramRef });
    assert.equal((await api.ask("POST", WIDGETS, { body: widget("a", { size: 3 }) })).code, 201);
    assert.equal((await api.ask("POST", WIDGETS, { body: widget("b", { size: 4 }) })).code, 422);
  });
});
