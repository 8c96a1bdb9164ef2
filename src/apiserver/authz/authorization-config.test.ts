import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { type ConfiguredAuthorizer, readAuthorizationConfig } from "./authorization-config.ts";

const webhook = {
  timeout: "3s",
  subjectAccessReviewVersion: "v1",
  failurePolicy: "Deny",
  connectionInfo: { type: "KubeConfigFile", kubeConfigFile: "/hook" },
};
const read = (document: object, before?: readonly ConfiguredAuthorizer[]) =>
  readAuthorizationConfig({
    text: JSON.stringify(document),
    fileFault: (file) => (file === "/hook" ? undefined : "error loading file"),
    ...(before && { before }),
  });
const config = (...authorizers: object[]): object => ({
  apiVersion: "apiserver.config.k8s.io/v1",
  kind: "AuthorizationConfiguration",
  authorizers,
});

test("authorization: authorizers are called in the order of the file", () => {
  const authorizers = read(
    config(
      { type: "Webhook", name: "first", webhook: { ...webhook, cacheAuthorizedRequests: false } },
      { type: "RBAC", name: "rbac" },
      { type: "Webhook", name: "last", webhook: { ...webhook, failurePolicy: "NoOpinion" } },
    ),
  );
  const kept = { timeoutMs: 3000, refusedMs: 30_000 };
  const hook = { kubeconfig: "/hook", ...kept, version: "v1", conditions: [] };
  assert.deepEqual(authorizers, [
    { ...hook, name: "first", allowedMs: 0, onFailure: "deny" },
    "RBAC",
    { ...hook, name: "last", allowedMs: 300_000, onFailure: "noOpinion" },
  ]);
});

const hooked = (name: string): object => ({ type: "Webhook", name, webhook });
const conditional = (...expressions: string[]): object => ({
  ...webhook,
  matchConditionSubjectAccessReviewVersion: "v1",
  matchConditions: expressions.map((expression) => ({ expression })),
});

describe("AuthorizationConfiguration errors", () => {
  const rows: [name: string, document: object, says: RegExp][] = [
    [
      "a document of another kind is refused",
      { kind: "Pod" },
      /^Error: failed to load AuthorizationConfiguration from file: Object 'apiVersion' is missing/,
    ],
    [
      "at least one authorizer is required",
      config(),
      /authorizers: Required value: at least one authorization mode/,
    ],
    [
      "an authorizer without a type is refused",
      config({ name: "a" }),
      /authorizers\[0\]\.type: Required value/,
    ],
    [
      "an authorizer of an unknown type is refused",
      config({ type: "ABAC", name: "a" }),
      /\.type: Unsupported value: "ABAC"/,
    ],
    [
      "a second RBAC authorizer is refused",
      config({ type: "RBAC", name: "a" }, { type: "RBAC", name: "b" }),
      /authorizers\[1\]\.type: Duplicate value: "RBAC"/,
    ],
    [
      "an authorizer without a name is refused",
      config({ type: "RBAC" }),
      /authorizers\[0\]\.name: Required value/,
    ],
    [
      "a Webhook authorizer without webhook is refused",
      config({ type: "Webhook", name: "a" }),
      /required when type=Webhook/,
    ],
    [
      "webhook of an RBAC authorizer is refused",
      config({ type: "RBAC", name: "a", webhook }),
      /may only be specified/,
    ],
    [
      "a webhook timeout over 30 s is refused",
      config({ type: "Webhook", name: "a", webhook: { ...webhook, timeout: "1m" } }),
      /timeout: Invalid value: "1m0s": must be > 0s and <= 30s/,
    ],
    [
      "matchConditions that are no bool or do not compile are refused",
      config({ ...hooked("a"), webhook: conditional("request.user", "request.nope", "") }),
      /matchConditions\[0\]\.expression: Invalid value: "request.user": must evaluate to bool but got string, .*undefined field 'nope'[\s\S]*matchConditions\[2\]\.expression: Required value/,
    ],
    [
      "conditions without a version",
      config({
        ...hooked("a"),
        webhook: { ...webhook, matchConditions: [{ expression: "true" }] },
      }),
      /matchConditionSubjectAccessReviewVersion: Required value: required if match conditions/,
    ],
    [
      "an unknown field is refused",
      config({ ...hooked("a"), foo: 1 }),
      /unknown field "authorizers\[0\]\.foo"/,
    ],
    [
      "an RBAC authorizer with another name than rbac is refused",
      config({ type: "RBAC", name: "a" }),
      /^Error: expected name rbac for authorizer RBAC instead of a$/,
    ],
    [
      "a kubeconfig file that does not exist is refused",
      config({
        ...hooked("a"),
        webhook: { ...webhook, connectionInfo: { type: "KubeConfigFile", kubeConfigFile: "/x" } },
      }),
      /connectionInfo\.kubeConfigFile: Invalid value: "\/x": error loading file/,
    ],
  ];
  test.each(rows)("%s", (_, document, says) => {
    assert.throws(() => read(document), says);
  });
});

describe("authorization: while the server runs", () => {
  const node = { type: "Node", name: "node" };
  const rbac = { type: "RBAC", name: "rbac" };

  test("webhooks come and go, and the order changes", () => {
    const now = read(config(hooked("b"), rbac, node), ["Node", "RBAC"]);
    assert.deepEqual(now.slice(1), ["RBAC", "Node"]);
  });

  test("the server's own authorizers stay", () => {
    assert.throws(
      () => read(config(rbac), ["Node", "RBAC"]),
      /^Error: missing required types: \[Node\]$/,
    );
    assert.throws(
      () => read(config(rbac, node), ["RBAC"]),
      /authorizer type Node is not allowed if/,
    );
  });
});
