/** kubectl through every kind of tunnel, to a node that the control plane has no route to. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { issueLeaf, openAuthority } from "#pki/authority.ts";
import { missingProgram } from "../../../tools/debian-packages.ts";
import { NODE } from "../node/cluster.ts";
import { until } from "../node/eventually.ts";
import { LONG, NODE_ADDRESS, type SplitMachine, startSplitMachine } from "./split-machine.ts";
import { TUNNEL_KINDS } from "./tunnel-kinds.ts";

const HOOK_PORT = 9443;
const PAGE = "through-the-tunnel";

describe("a node that the control plane has no route to", () => {
  let split: SplitMachine;

  beforeAll(async () => {
    assert.equal(missingProgram("curl"), undefined);
    split = await startSplitMachine();
    await startWebhook(split);
  }, 240_000);

  afterAll(async () => {
    await split?.[Symbol.asyncDispose]();
  });

  const forwarded = async (): Promise<string> => {
    const kubeconfig = join(split.dir, "data/kubeconfig");
    const script = [
      `kubectl --kubeconfig ${kubeconfig} port-forward pod/web 18080:8080 >&2 & pid=$!`,
      "for i in $(seq 100); do",
      '  page=$(curl -s --noproxy "*" -m 5 http://127.0.0.1:18080/) && [ -n "$page" ] && break',
      "  kill -0 $pid 2>/dev/null || break; sleep 0.1",
      'done; kill $pid 2>/dev/null; echo "$page"',
    ].join("\n");
    const { stdout, stderr } = await split.tryControl("bash", "-c", script);
    return stdout.trim() || stderr;
  };
  const held = (...args: string[]) => {
    const kubeconfig = join(split.dir, "data/kubeconfig");
    const started = split.onControl("kubectl", "--kubeconfig", kubeconfig, ...args);
    const ended = new Promise<number | null>((resolve) => started.child.once("exit", resolve));
    return { output: started.output, ended };
  };
  const hooked = (): ReturnType<SplitMachine["tryKubectl"]> =>
    split.tryKubectl("create", "configmap", "asked", "--dry-run=server", "--from-literal=a=b");
  const proxied = (path: string): ReturnType<SplitMachine["tryKubectl"]> =>
    split.tryKubectl("get", "--raw", path);
  const POD = "/api/v1/namespaces/default/pods/web:8080/proxy/";
  const SERVICE = "/api/v1/namespaces/default/services/web:80/proxy/";
  const KUBELET = `/api/v1/nodes/${NODE}/proxy/healthz`;

  test("without a tunnel logs, exec, port-forward, proxies and webhooks fail", async () => {
    const [logs, exec, page, hook, ...proxies] = await Promise.all([
      split.tryKubectl("logs", "web"),
      split.tryKubectl("exec", "web", "--", "echo", "reached"),
      forwarded(),
      hooked(),
      ...[POD, SERVICE, KUBELET].map(proxied),
    ]);
    for (const { exitCode, stderr } of [logs, exec]) {
      assert.notEqual(exitCode, 0);
      assert.match(stderr, /network is unreachable|no route to host/);
    }
    for (const { exitCode } of proxies) assert.notEqual(exitCode, 0);
    assert.notEqual(page, PAGE);
    assert.match(hook.stderr, /failed calling webhook "hook\.example\.com"/);
  }, 120_000);

  test.each(TUNNEL_KINDS)(
    "$name: logs, exec, attach, port-forward, proxies and webhooks work",
    async ({ open }) => {
      const tunnel = await open(split);
      try {
        const follow = held("logs", "-f", "web");
        const exec = held("exec", "web", "--", "sh", "-c", "echo started; sleep 1000");
        const attach = held("attach", "web", "-c", "ticker");
        const [logs, echoed, copied, page, hook, kubelet, ...pages] = await Promise.all([
          split.kubectl("logs", "web"),
          split.kubectl("exec", "web", "--", "echo", "reached"),
          split.kubectl("exec", "web", "--", "seq", "100000"),
          forwarded(),
          hooked(),
          ...[KUBELET, POD, SERVICE].map(proxied),
        ]);
        assert.equal(logs, "hello-from-the-node\n");
        assert.equal(echoed, "reached\n");
        assert.equal(copied.length, 588_895);
        assert.equal(page, PAGE);
        assert.match(hook.stderr, /denied by a webhook on the node/);
        assert.equal(kubelet?.stdout, "ok");
        for (const { stdout } of pages) assert.equal(stdout.trim(), PAGE);
        const heard = [
          [follow, "hello"],
          [exec, "start"],
          [attach, "tick"],
        ] as const;
        await until(() => heard.every(([{ output }, text]) => output().includes(text)), LONG);
        // The node's side dies: streams end with an error, and calls work again once it is back.
        await tunnel.kill();
        for (const stream of [follow, exec, attach]) {
          assert.notEqual(await stream.ended, 0, stream.output());
          assert.match(stream.output(), /error/i);
        }
        await tunnel.restart();
        await until(async () => (await split.tryKubectl("logs", "web")).exitCode === 0, LONG);
      } finally {
        await tunnel.end();
      }
    },
    120_000,
  );
});

/** An HTTPS server on the node that denies everything, behind a Service without a selector. */
async function startWebhook(split: SplitMachine): Promise<void> {
  const { dir, onNode, apply } = split;
  const nowMs = Date.now();
  const authority = openAuthority(join(dir, "hook-ca"), "hook-ca", nowMs);
  const altNames = ["hook.default.svc"];
  const { certificatePem, keyPem } = issueLeaf(
    authority,
    { subject: { commonName: "hook" }, purpose: "server auth", altNames },
    nowMs,
  );
  const program = join(dir, "hook.mjs");
  const denied = { allowed: false, status: { message: "denied by a webhook on the node" } };
  writeFileSync(
    program,
    `import { createServer } from "node:https";
    createServer(${JSON.stringify({ cert: certificatePem, key: keyPem })}, async (request, reply) => {
      let text = "";
      for await (const chunk of request) text += chunk;
      const { apiVersion, kind, request: { uid } } = JSON.parse(text);
      reply.setHeader("content-type", "application/json");
      reply.end(JSON.stringify({ apiVersion, kind, response: { uid, ...${JSON.stringify(denied)} } }));
    }).listen(${HOOK_PORT}, "${NODE_ADDRESS}");`,
  );
  onNode(process.execPath, program);
  const rule = { apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] };
  await apply(
    {
      ...{ apiVersion: "v1", kind: "Service", metadata: { name: "hook" } },
      spec: { ports: [{ port: 443, targetPort: HOOK_PORT }] },
    },
    {
      ...{ apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice" },
      metadata: { name: "hook", labels: { "kubernetes.io/service-name": "hook" } },
      ...{ addressType: "IPv4", ports: [{ port: HOOK_PORT, protocol: "TCP" }] },
      endpoints: [{ addresses: [NODE_ADDRESS], conditions: { ready: true } }],
    },
    {
      ...{ apiVersion: "admissionregistration.k8s.io/v1", kind: "ValidatingWebhookConfiguration" },
      metadata: { name: "hook" },
      webhooks: [
        {
          ...{ name: "hook.example.com", admissionReviewVersions: ["v1"], sideEffects: "None" },
          rules: [{ ...rule, operations: ["CREATE"] }],
          matchConditions: [{ name: "one", expression: "object.metadata.name == 'asked'" }],
          timeoutSeconds: 5,
          clientConfig: {
            service: { name: "hook", namespace: "default", path: "/" },
            caBundle: Buffer.from(authority.certificatePem).toString("base64"),
          },
        },
      ],
    },
  );
}
