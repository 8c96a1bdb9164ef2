/** More requests than the server takes at once, over real connections. */
import assert from "node:assert/strict";
import { Agent, request } from "node:https";
import { afterAll, beforeAll, test } from "vitest";
import { askHttps, authorityOf } from "./https-ask.ts";
import { startTestServer, type TestServer } from "./test-server.ts";

const TOKENS = [
  "admin,admin,1,system:masters",
  "greedy,greedy,2,people",
  "modest,modest,3,people",
].join("\n");
let server: TestServer;

beforeAll(async () => {
  server = await startTestServer({
    tokens: TOKENS,
    flags: ["--max-requests-inflight", "8", "--max-mutating-requests-inflight", "4"],
  });
  const queuing = { queues: 16, handSize: 4, queueLengthLimit: 3 };
  const level = await askHttps(server, {
    method: "PATCH",
    path: "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations/global-default",
    token: "admin",
    headers: { "content-type": "application/merge-patch+json" },
    body: { spec: { limited: { limitResponse: { queuing } } } },
  });
  assert.equal(level.code, 200, level.text);
  const rule = { apiGroups: [""], resources: ["configmaps"], verbs: ["list", "create"] };
  const at = "/apis/rbac.authorization.k8s.io/v1";
  const post = (path: string, body: object) =>
    askHttps(server, { method: "POST", path, token: "admin", body });
  await post(`${at}/clusterroles`, { metadata: { name: "cm" }, rules: [rule] });
  await post(`${at}/clusterrolebindings`, {
    metadata: { name: "cm" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cm" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "people" }],
  });
});

afterAll(() => server[Symbol.asyncDispose]());

/** The codes that many requests at once were answered with. */
function flood(token: string, count: number): Promise<Map<number, number>> {
  const agent = new Agent({ ca: authorityOf(server), keepAlive: true, maxSockets: 200 });
  const codes = new Map<number, number>();
  const one = (index: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const outgoing = request({
        agent,
        host: "127.0.0.1",
        port: server.port,
        method: "POST",
        path: "/api/v1/namespaces/default/configmaps",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      });
      outgoing.on("error", reject);
      outgoing.on("response", (response) => {
        const { statusCode: code = 0 } = response;
        codes.set(code, (codes.get(code) ?? 0) + 1);
        if (code === 429) assert.equal(response.headers["retry-after"], "1");
        response.resume();
        response.on("end", resolve);
      });
      outgoing.end(JSON.stringify({ metadata: { name: `${token}-${index}` } }));
    });
  const all = Promise.all(Array.from({ length: count }, (_, index) => one(index)));
  return all.then(() => codes).finally(() => agent.destroy());
}

test("API priority and fairness: a flood gets 429; /readyz, system:masters and modest users are served", async () => {
  const greedy = flood("greedy", 600);
  const [health, modest, boss] = await Promise.all([
    askHttps(server, { path: "/readyz" }),
    askHttps(server, { path: "/api/v1/namespaces/default/configmaps", token: "modest" }),
    askHttps(server, { path: "/api/v1/namespaces", token: "admin" }),
  ]);
  assert.deepEqual([health.code, modest.code, boss.code], [200, 200, 200]);
  const codes = await greedy;
  assert.deepEqual([...codes.keys()].sort(), [201, 429]);
  assert.ok((codes.get(201) ?? 0) > 12, `served ${codes.get(201)}`);

  const { text } = await askHttps(server, { path: "/metrics", token: "admin" });
  const refused = text
    .split("\n")
    .find((line) => line.startsWith("apiserver_flowcontrol_rejected_requests_total"));
  assert.match(refused ?? "", /priority_level="global-default",reason="queue-full"} \d+/);
  const path = "/debug/api_priority_and_fairness/dump_queues";
  const dump = await askHttps(server, { path, token: "admin" });
  assert.match(dump.text, /^PriorityLevelName, Index, {2}PendingRequests, /);
});
