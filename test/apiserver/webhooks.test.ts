/** Tokens and access that servers elsewhere decide on, over real HTTPS. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test, vi } from "vitest";
import { askHttps } from "./https-ask.ts";
import { startTestServer, type TestServer } from "./test-server.ts";
import { startWebhook, type WebhookServer } from "./webhook-server.ts";

describe("webhooks", () => {
  const directory = mkdtempSync(join(tmpdir(), "k8ts-test-webhooks-"));
  let tokens: WebhookServer;
  let access: WebhookServer;
  let server: TestServer;
  let audited: WebhookServer;
  let fails = false;

  beforeAll(async () => {
    tokens = await startWebhook(directory, "tokens", ({ spec }) => {
      if (spec.token === "broken") return 400;
      if (spec.token === "elsewhere")
        return { authenticated: true, user: { username: "x" }, audiences: ["other"] };
      if (spec.token !== "sesame") return { authenticated: false, error: "unknown token" };
      const extra = { floor: ["3"] };
      return { authenticated: true, user: { username: "ali", uid: "7", groups: ["cave"], extra } };
    });
    access = await startWebhook(directory, "access", ({ spec }) => {
      if (fails) return 403;
      const { resource, namespace, name } = spec.resourceAttributes ?? {};
      if (name === "denied") return { allowed: false, denied: true, reason: "not that one" };
      return { allowed: resource === "configmaps" && namespace === "default", reason: "" };
    });
    audited = await startWebhook(directory, "audited", () => ({}));
    const policy = join(directory, "policy.yaml");
    writeFileSync(
      policy,
      "{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: Metadata}]}",
    );
    const connectionInfo = { type: "KubeConfigFile", kubeConfigFile: access.kubeconfig };
    const authorizers = join(directory, "authorizers.yaml");
    writeFileSync(
      authorizers,
      JSON.stringify({
        apiVersion: "apiserver.config.k8s.io/v1",
        kind: "AuthorizationConfiguration",
        authorizers: [
          { type: "Node", name: "node" },
          { type: "RBAC", name: "rbac" },
          {
            type: "Webhook",
            name: "hook",
            webhook: {
              timeout: "30s",
              subjectAccessReviewVersion: "v1",
              failurePolicy: "NoOpinion",
              connectionInfo,
            },
          },
        ],
      }),
    );
    server = await startTestServer({
      flags: [
        ...["--audit-policy-file", policy, "--audit-webhook-config-file", audited.kubeconfig],
        ...["--audit-webhook-batch-max-wait", "20ms"],
        ...["--authorization-config", authorizers],
        ...["--authentication-token-webhook-config-file", tokens.kubeconfig],
      ],
    });
  });

  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await tokens[Symbol.asyncDispose]();
    await access[Symbol.asyncDispose]();
    await audited[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  const get = (path: string, token = "sesame") => askHttps(server, { path, token });

  test("know tokens, and are asked once for each", async () => {
    const review = { method: "POST", path: "/apis/authentication.k8s.io/v1/selfsubjectreviews" };
    const before = tokens.asked.length;
    for (let times = 0; times < 3; times++) {
      const { code, text } = await askHttps(server, { ...review, token: "sesame", body: {} });
      assert.equal(code, 201, text);
      assert.deepEqual(JSON.parse(text).status.userInfo, {
        username: "ali",
        uid: "7",
        groups: ["cave", "system:authenticated"],
        extra: { floor: ["3"] },
      });
    }
    assert.equal(tokens.asked.length, before + 1);
    const [question] = tokens.asked.slice(before);
    assert.deepEqual(
      [question.kind, question.apiVersion, question.spec],
      [
        "TokenReview",
        "authentication.k8s.io/v1beta1",
        { token: "sesame", audiences: ["https://kubernetes.default.svc"] },
      ],
    );
    assert.equal(tokens.credentials[before], "Bearer let me in");
  });

  test("refuse tokens: unknown ones, those for others, and any if they cannot be asked", async () => {
    for (const token of ["unknown", "elsewhere", "broken"]) {
      assert.equal((await get("/api/v1/namespaces/default/configmaps", token)).code, 401, token);
    }
  });

  test("authorization webhook: asked if no authorizer before it decides, and its decision is cached", async () => {
    const before = access.asked.length;
    for (let times = 0; times < 2; times++) {
      assert.equal((await get("/api/v1/namespaces/default/configmaps")).code, 200);
    }
    assert.equal(access.asked.length, before + 1);
    assert.deepEqual(access.asked[before], {
      kind: "SubjectAccessReview",
      apiVersion: "authorization.k8s.io/v1",
      metadata: {},
      spec: {
        resourceAttributes: {
          namespace: "default",
          verb: "list",
          version: "v1",
          resource: "configmaps",
        },
        user: "ali",
        uid: "7",
        groups: ["cave", "system:authenticated"],
        extra: { floor: ["3"] },
      },
    });
    assert.equal((await get("/version")).code, 200); // RBAC allows it to everyone
    assert.equal(access.asked.length, before + 1);
    assert.equal((await get("/api/v1/namespaces/default/secrets")).code, 403);
    const denied = await get("/api/v1/namespaces/default/configmaps/denied");
    assert.equal(denied.code, 403);
    assert.match(denied.text, /not that one/);
    const other = await get("/logs/x");
    assert.equal(other.code, 403);
    assert.deepEqual(access.asked.at(-1).spec.nonResourceAttributes, {
      path: "/logs/x",
      verb: "get",
    });
  });

  test("authorization webhook: a failure leaves the decision to the others, and the error is in the message", async () => {
    fails = true;
    const { code, text } = await get("/api/v1/namespaces/other/configmaps");
    fails = false;
    assert.equal(code, 500);
    assert.equal(text, 'Internal Server Error: "/api/v1/namespaces/other/configmaps": unknown\n');
  });

  test("audit webhook: receives events of requests", async () => {
    const path = "/api/v1/namespaces/default/configmaps/audited";
    await get(path);
    const seen = (): { stage: string }[] =>
      audited.asked
        .flatMap(({ items }) => items)
        .filter(({ requestURI }: { requestURI: string }) => requestURI === path);
    const isSeen = () => assert.ok(seen().some(({ stage }) => stage === "ResponseComplete"));
    await vi.waitFor(isSeen, { timeout: 25_000 });
    const [{ kind, apiVersion }] = audited.asked;
    assert.deepEqual([kind, apiVersion], ["EventList", "audit.k8s.io/v1"]);
  });
});
