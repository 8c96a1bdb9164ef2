import assert from "node:assert/strict";
import { test } from "vitest";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { startCluster } from "#testing/cluster.ts";
import { Access } from "./access.ts";
import { ExpiringAnswers } from "./expiring-answers.ts";
import { nodeAttributes } from "./node-attributes.ts";

const PATHS = [
  { path: "/stats/summary", subresources: ["stats"] },
  { path: "/metrics", subresources: ["metrics"] },
  { path: "/metrics/resource", subresources: ["metrics"] },
  { path: "/metricsfoo", subresources: ["proxy"] },
  { path: "/logs/syslog", subresources: ["log"] },
  { path: "/pods", subresources: ["pods", "proxy"] },
  { path: "/healthz", subresources: ["healthz", "proxy"] },
  { path: "/configz", subresources: ["configz", "proxy"] },
  { path: "/runningpods/", subresources: ["pods", "proxy"] },
  { path: "/containerLogs/default/web/app", subresources: ["proxy"] },
  { path: "/exec/default/web/app", subresources: ["proxy"] },
];

test.each(PATHS)(
  "kubelet authorization: $path asks for $subresources",
  ({ path, subresources }) => {
    assert.deepEqual(nodeAttributes("GET", path), { verb: "get", subresources });
  },
);

test("kubelet access: RBAC of the API server decides about a certificate's user", async () => {
  await using cluster = await startCluster({ secured: true });
  const { client, clock } = cluster;
  const options = { nodeName: "node-1", anonymous: false, tokens: true } as const;
  const access = new Access({ ...options, client, clock, authorization: "Webhook" });
  const admin = { name: "kube-apiserver-kubelet-client", groups: ["system:masters"] };
  const ask = (certificate: typeof admin | undefined, header?: string) =>
    access.decide({ certificate, authorizationHeader: header }, "GET", "/pods");

  assert.equal((await ask(admin)).allowed, true);
  assert.deepEqual(await ask({ name: "jane", groups: [] }), {
    allowed: false,
    code: 403,
    message: "Forbidden (user=jane, verb=get, resource=nodes, subresource(s)=[pods proxy])\n",
  });
  assert.deepEqual(await ask(undefined), { allowed: false, code: 401, message: "Unauthorized" });
  const token = await ask(undefined, "Bearer wrong");
  assert.deepEqual(token, { allowed: false, code: 401, message: "Unauthorized" });
});

test("kubelet access: an answer is asked for again when its time is over, and not kept if it failed", async () => {
  const clock = new VirtualClock("2030-01-01T00:00:00Z");
  const answers = new ExpiringAnswers<number>(clock, () => 1_000);
  let asked = 0;
  const ask = async (): Promise<number> => ++asked;
  assert.equal(await answers.get("a", ask), 1);
  assert.equal(await answers.get("a", ask), 1);
  await clock.advance(1_000);
  assert.equal(await answers.get("a", ask), 2);
  await assert.rejects(answers.get("b", () => Promise.reject(new Error("away"))));
  assert.equal(await answers.get("b", ask), 3);
});
