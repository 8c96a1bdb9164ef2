import assert from "node:assert/strict";
import { test } from "vitest";
import type { SubjectAccessReview } from "#api/generated/authorization.v1.ts";
import type { AccessAttributes, Authorizer } from "./authorizer.ts";
import { alwaysAllow, chainAuthorizers } from "./chain.ts";
import {
  reviewLocalSubjectAccess,
  reviewSelfAccess,
  reviewSelfRules,
  reviewSubjectAccess,
} from "./reviews.ts";

type Spec = SubjectAccessReview["spec"];
const STATUS = { allowed: false };
const resourceAttributes = { verb: "get", resource: "pods", namespace: "ns" };

const malformed: { name: string; spec: Spec; message: string }[] = [
  {
    name: "neither attributes nor user",
    spec: {},
    message:
      '.authorization.k8s.io "" is invalid: [spec.resourceAttributes: Invalid value: null: exactly ' +
      "one of nonResourceAttributes or resourceAttributes must be specified, " +
      'spec.user: Invalid value: "": at least one of user or group must be specified]',
  },
  {
    name: "both kinds of question",
    spec: { user: "u", resourceAttributes: { verb: "get" }, nonResourceAttributes: { path: "/x" } },
    message:
      '.authorization.k8s.io "" is invalid: spec.nonResourceAttributes: Invalid value: ' +
      '{"Path":"/x","Verb":""}: cannot be specified in combination with resourceAttributes',
  },
  {
    name: "a selector that says nothing",
    spec: { resourceAttributes: { ...resourceAttributes, fieldSelector: {} } },
    message:
      '.authorization.k8s.io "" is invalid: [spec.user: Invalid value: "": at least one of user or ' +
      "group must be specified, spec.resourceAttributes.fieldSelector.requirements: Required value: " +
      "when spec.resourceAttributes.fieldSelector is specified, requirements or rawSelector is required]",
  },
];
for (const { name, spec, message } of malformed) {
  test(`authorization: a malformed review is refused: ${name}`, async () => {
    const result = await reviewSubjectAccess({ metadata: {}, spec, status: STATUS }, alwaysAllow);
    assert.ok(!result.ok);
    assert.equal(result.status.message, message);
    assert.equal(result.status.code, 422);
  });
}

test("a local review must be about its namespace", async () => {
  const review = {
    metadata: { namespace: "ns" },
    spec: { user: "u", resourceAttributes: { ...resourceAttributes, namespace: "other" } },
    status: STATUS,
  };
  const result = await reviewLocalSubjectAccess(review, "ns", alwaysAllow);
  assert.ok(!result.ok);
  assert.equal(
    result.status.message,
    '.authorization.k8s.io "" is invalid: spec.resourceAttributes.namespace: Invalid value: ' +
      '"other": must match metadata.namespace',
  );
});

test("SubjectAccessReview: attributes reach the authorizer, and its decision the status", async () => {
  const asked: AccessAttributes[] = [];
  const recorder: Authorizer = {
    name: "recorder",
    authorize(attributes) {
      asked.push(attributes);
      return { decision: "deny", reason: "because" };
    },
  };
  const spec: Spec = {
    user: "u",
    groups: ["g"],
    resourceAttributes: {
      ...resourceAttributes,
      fieldSelector: {
        requirements: [
          { key: "spec.nodeName", operator: "In", values: ["n"] },
          { key: "x", operator: "Exists" },
        ],
      },
      labelSelector: { rawSelector: "a=b" },
    },
  };
  const result = await reviewSubjectAccess({ metadata: {}, spec, status: STATUS }, recorder);
  assert.ok(result.ok);
  assert.deepEqual(result.value.status, {
    allowed: false,
    denied: true,
    reason: "because",
    evaluationError: "spec.resourceAttributes.fieldSelector partially ignored due to parse error",
  });
  assert.deepEqual(asked, [
    {
      user: { name: "u", groups: ["g"] },
      isResource: true,
      verb: "get",
      path: "",
      group: "",
      version: "*",
      resource: "pods",
      subresource: "",
      namespace: "ns",
      name: "",
      fieldSelector: [{ field: "spec.nodeName", operator: "=", value: "n" }],
      labelSelector: [{ key: "a", operator: "=", values: ["b"] }],
    },
  ]);
});

test("SelfSubjectAccessReview allows system:masters; SelfSubjectReview answers the user", async () => {
  const masters = { name: "root", groups: ["system:masters"] };
  const review = { metadata: {}, spec: { resourceAttributes }, status: STATUS };
  const result = await reviewSelfAccess(review, masters, chainAuthorizers([]));
  assert.ok(result.ok);
  assert.deepEqual(result.value.status, { allowed: true });

  const status = { resourceRules: [], nonResourceRules: [], incomplete: false };
  const rules = reviewSelfRules(
    { metadata: {}, spec: { namespace: "ns" }, status },
    masters,
    chainAuthorizers([alwaysAllow]),
  );
  assert.ok(rules.ok);
  assert.deepEqual(rules.value.status, {
    resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }],
    nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
    incomplete: false,
  });
});
