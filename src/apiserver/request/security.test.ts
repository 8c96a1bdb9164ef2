/** Authentication, authorization and audit over the real server on the memory store. */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { seededRandom } from "#lib/random.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { createMemoryStore } from "#store/memory.ts";
import { testSecurityOptions, testServerOptions } from "#testing/server-options.ts";
import { admissionPlugins } from "../admission/registry.ts";
import { createEscalationCheck } from "../authz/escalation.ts";
import { reconcileAccess, reconcileFlowControl } from "../bootstrap/reconcile.ts";
import type { Answer } from "../response/answer.ts";
import { type ApiServer, startApiServer } from "../server.ts";
import { createSecurity } from "./security.ts";

interface Running {
  readonly api: ApiServer;
  readonly audited: Record<string, unknown>[];
  ask(
    method: string,
    path: string,
    options?: { token?: string; body?: object; headers?: Record<string, string> },
  ): Promise<{
    code: number;
    value: Readonly<Record<string, unknown>>;
    headers: Answer["headers"];
  }>;
}

async function start(): Promise<Running> {
  const clock = new VirtualClock("2030-01-01T00:00:00Z");
  const random = seededRandom(1);
  const audited: Record<string, unknown>[] = [];
  const life = new AbortController();
  const api = await startApiServer(
    {
      ...testServerOptions(),
      store: createMemoryStore({ clock }),
      clock,
      random,
      serviceRanges: ["10.96.0.0/16"],
      nodePorts: { first: 30_000, last: 32_767 },
      security: (objects, signal) =>
        createSecurity(
          {
            ...testSecurityOptions("https://kubernetes.default.svc"),
            modes: ["Node", "RBAC"],
            anonymous: { enabled: true },
            bootstrapTokens: true,
            tokenFile: {
              path: "tokens.csv",
              text: 'root,root,1,"system:masters"\nalice,alice,2\nnode,system:node:n1,3,"system:nodes"\n',
            },
            flow: { seats: 600, longRunningMax: 10 },
            audit: {
              policy: { rules: [{ level: "Metadata" }], omitStages: ["RequestReceived"] },
              write: (line) => void audited.push(JSON.parse(line)),
            },
            clock,
            random,
          },
          objects,
          signal,
        ),
      admission: ({ security: { authorizer, rules } }) => [
        ...admissionPlugins(
          {
            authorizer,
            clock,
            random,
            tolerationSeconds: { notReady: 300, unreachable: 300 },
            mutating: [],
            validating: [],
            findKind: () => undefined,
          },
          { enable: [], disable: [] },
        ),
        createEscalationCheck(rules, authorizer),
      ],
    },
    life.signal,
  );
  assert.deepEqual(await reconcileAccess(api.objects), []);
  assert.deepEqual(await reconcileFlowControl(api.objects, clock.nowMs()), []);
  return {
    api,
    audited,
    async ask(method, path, { token, body, headers = {} } = {}) {
      const answer = await api.handle({
        method,
        path,
        query: new URLSearchParams(),
        headers: { ...headers, ...(token ? { authorization: `Bearer ${token}` } : {}) },
        body: body ? { form: "bytes", bytes: Buffer.from(JSON.stringify(body)) } : { form: "none" },
        peer: { address: "192.0.2.1" },
        signal: new AbortController().signal,
      });
      answer.sent?.();
      const found =
        answer.body.form === "object"
          ? answer.body.object.value
          : answer.body.form === "value"
            ? answer.body.value
            : undefined;
      return {
        code: answer.code,
        value: found as Readonly<Record<string, unknown>>,
        headers: answer.headers,
      };
    },
  };
}

const PODS = "/api/v1/namespaces/ns/pods";
const RBAC = "/apis/rbac.authorization.k8s.io/v1";

describe("authentication", () => {
  const cases = [
    { name: "anonymous: list pods is forbidden", path: PODS, code: 403 },
    { name: "anonymous: /version is allowed", path: "/version", code: 200 },
    { name: "anonymous: discovery is forbidden", path: "/apis", code: 403 },
    { name: "an invalid token gets 401", path: "/version", token: "x", code: 401 },
    {
      name: "system:authenticated: discovery is allowed",
      path: "/apis",
      token: "alice",
      code: 200,
    },
    {
      name: "a user without a role may not list pods (403)",
      path: PODS,
      token: "alice",
      code: 403,
    },
    { name: "system:masters may list pods", path: PODS, token: "root", code: 200 },
    { name: "a node may not list all pods", path: "/api/v1/pods", token: "node", code: 403 },
    { name: "a node may list services", path: "/api/v1/services", token: "node", code: 200 },
  ];
  for (const { name, path, token, code } of cases) {
    test(name, async () => {
      const { ask } = await start();
      assert.equal((await ask("GET", path, token ? { token } : {})).code, code);
    });
  }
});

test("RBAC: a binding works at once; privilege escalation is refused", async () => {
  const { ask } = await start();
  await ask("POST", "/api/v1/namespaces", { token: "root", body: { metadata: { name: "ns" } } });
  const binding = (role: string) => ({
    metadata: { name: role },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "alice" }],
  });
  const bindings = `${RBAC}/namespaces/ns/rolebindings`;
  const made = await ask("POST", bindings, { token: "root", body: binding("admin") });
  assert.equal(made.code, 201);
  assert.equal((await ask("GET", PODS, { token: "alice" })).code, 200);
  assert.equal((await ask("GET", "/api/v1/pods", { token: "alice" })).code, 403);
  assert.equal((await ask("POST", bindings, { token: "alice", body: binding("edit") })).code, 201);
  const greedy = await ask("POST", bindings, { token: "alice", body: binding("cluster-admin") });
  assert.equal(greedy.code, 403);
  assert.match(
    String(greedy.value.message),
    /is attempting to grant RBAC permissions not currently held/,
  );
});

test("a service account's token is its account's, until the account is gone", async () => {
  const { ask } = await start();
  const root = { token: "root" };
  await ask("POST", "/api/v1/namespaces", { ...root, body: { metadata: { name: "ns" } } });
  const accounts = "/api/v1/namespaces/ns/serviceaccounts";
  await ask("POST", accounts, { ...root, body: { metadata: { name: "bot" } } });
  const issued = await ask("POST", `${accounts}/bot/token`, { ...root, body: { spec: {} } });
  assert.equal(issued.code, 201);
  const { token } = issued.value.status as { token: string };
  const self = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
  const known = await ask("POST", self, { token, body: {} });
  const { userInfo } = known.value.status as { userInfo: { username: string } };
  assert.equal(userInfo.username, "system:serviceaccount:ns:bot");
  await ask("DELETE", `${accounts}/bot`, root);
  assert.equal((await ask("POST", self, { token, body: {} })).code, 401);
});

test("others find the keys that tokens are verified with", async () => {
  const { ask } = await start();
  const { code, headers } = await ask("GET", "/openid/v1/jwks", { token: "root" });
  assert.deepEqual([code, headers["cache-control"]], [200, "public, max-age=3600"]);
  assert.equal((await ask("GET", "/.well-known/openid-configuration")).code, 403);
});

test("audit: every request is logged, with the user and the impersonated user", async () => {
  const { ask, audited } = await start();
  await ask("GET", PODS, { token: "root", headers: { "impersonate-user": "alice" } });
  const event = audited.at(-1)!;
  assert.deepEqual(
    [event.user, event.impersonatedUser, event.stage, event.annotations],
    [
      { username: "root", uid: "1", groups: ["system:masters", "system:authenticated"] },
      { username: "alice", groups: ["system:authenticated"] },
      "ResponseComplete",
      { "authorization.k8s.io/decision": "forbid", "authorization.k8s.io/reason": "" },
    ],
  );
  assert.equal((event.responseStatus as { code: number }).code, 403);
});

test("responses name their FlowSchema in X-Kubernetes-PF-FlowSchema-UID", async () => {
  const { ask, api } = await start();
  const { headers } = await ask("GET", "/version", { token: "alice" });
  const uid = headers["x-kubernetes-pf-flowschema-uid"];
  const { flowSchemaKind } = await import("#api/kinds/flowcontrol/v1/flow-schema.ts");
  const schema = api.objects.get(flowSchemaKind, "", "global-default");
  assert.equal(uid, schema?.metadata.uid);
});

test("API request: who asked and what came of it is counted", async () => {
  const { ask, api } = await start();
  await ask("GET", PODS, { token: "wrong" });
  await ask("GET", PODS, { token: "alice" });
  const headers = { "impersonate-user": "bob" };
  await ask("GET", PODS, { token: "root", headers });
  await ask("POST", "/api/v1/namespaces", { token: "root", body: { metadata: { name: "n" } } });
  const answer = await api.handle({
    method: "GET",
    path: "/metrics",
    query: new URLSearchParams(),
    headers: {},
    body: { form: "none" },
    peer: { address: "", user: { name: "x", groups: ["system:masters"] } },
    signal: new AbortController().signal,
  });
  const text = Buffer.from((answer.body as { bytes: Uint8Array }).bytes).toString();
  for (const line of [
    'authentication_attempts{result="error"} 1',
    'authorization_attempts_total{result="denied"} 2',
    'apiserver_impersonation_attempts_total{decision="allowed",mode="user-info"} 1',
    'apiserver_admission_step_admission_duration_seconds_count{operation="CREATE",rejected="false",type="admit"} 1',
  ]) {
    assert.ok(
      text.includes(`\n${line}\n`),
      `${line} in ${text.match(/\n(authen|author|apiserver_imp|apiserver_adm).*/g)}`,
    );
  }
  assert.match(text, /\napiserver_audit_event_total [1-9]/);
});
