import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { readAuthorizationConfig } from "./authorization-config.ts";

const webhook = {
  timeout: "3s",
  subjectAccessReviewVersion: "v1",
  failurePolicy: "Deny",
  connectionInfo: { type: "KubeConfigFile", kubeConfigFile: "/hook" },
};
const config = (...authorizers: object[]): object => ({
  apiVersion: "apiserver.config.k8s.io/v1",
  kind: "AuthorizationConfiguration",
  authorizers,
});

test("authorizers are asked in the order of the file", () => {
  const read = readAuthorizationConfig(
    config(
      { type: "Webhook", name: "first", webhook: { ...webhook, cacheAuthorizedRequests: false } },
      { type: "RBAC", name: "rbac" },
      { type: "Webhook", name: "last", webhook: { ...webhook, failurePolicy: "NoOpinion" } },
    ),
    "f",
  );
  const hook = { kubeconfig: "/hook", timeoutMs: 3000, refusedMs: 30_000, version: "v1" };
  assert.deepEqual(read, [
    { ...hook, name: "first", allowedMs: 0, onFailure: "deny" },
    "RBAC",
    { ...hook, name: "last", allowedMs: 300_000, onFailure: "noOpinion" },
  ]);
});

describe("what is wrong is named", () => {
  const rows: [name: string, document: object, says: RegExp][] = [
    ["another kind", { kind: "Pod" }, /expected an AuthorizationConfiguration/],
    ["nothing", config(), /authorizers: Required value: at least one authorization mode/],
    ["no type", config({ name: "a" }), /authorizers\[0\]\.type: Required value/],
    ["an unknown type", config({ type: "ABAC", name: "a" }), /\.type: Unsupported value: "ABAC"/],
    [
      "a type twice",
      config({ type: "RBAC", name: "a" }, { type: "RBAC", name: "b" }),
      /authorizers\[1\]\.type: Duplicate value: "RBAC"/,
    ],
    ["no name", config({ type: "RBAC" }), /authorizers\[0\]\.name: Required value/],
    ["no webhook", config({ type: "Webhook", name: "a" }), /required when type=Webhook/],
    ["a webhook too many", config({ type: "RBAC", name: "a", webhook }), /may only be specified/],
    [
      "a webhook without time",
      config({ type: "Webhook", name: "a", webhook: { ...webhook, timeout: "1m" } }),
      /timeout: Invalid value: "1m": must be > 0s and <= 30s/,
    ],
    [
      "expressions",
      config({ type: "Webhook", name: "a", webhook: { ...webhook, matchConditions: [{}] } }),
      /matchConditions: .*CEL expressions are not supported here yet/,
    ],
  ];
  test.each(rows)("%s", (_, document, says) => {
    assert.throws(() => readAuthorizationConfig(document, "f"), says);
  });
});
