/** `--kubelet-timeout` limits how long the API server tries to connect to a kubelet. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { test } from "vitest";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { askHttps } from "./https-ask.ts";
import { startTestServer } from "./test-server.ts";

const LISTEN = `require("node:net").createServer().listen({ port: 0, host: "127.0.0.1", backlog: 1 },
  function () { console.log(this.address().port); })`;
const FLAGS = ["--kubelet-timeout", "500ms", "--disable-admission-plugins", "ServiceAccount"];
/** What the flag is when it is not given. */
const DEFAULT_MS = 5_000;

test("a kubelet that does not accept connections is given up after --kubelet-timeout", async () => {
  await using stuck = await startStuckListener();
  const tokens = "admin,admin,1,system:masters";
  await using server = await startTestServer({ tokens, flags: FLAGS });
  const status = {
    addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
    daemonEndpoints: { kubeletEndpoint: { Port: stuck.port } },
  };
  const node = { metadata: { name: "stuck" }, spec: {}, status };
  assert.ok((await server.client.create(nodeKind, node as never)).ok);
  const pod = {
    metadata: { name: "p", namespace: "default" },
    spec: {
      nodeName: "stuck",
      containers: [{ name: "main", image: "x" }],
      automountServiceAccountToken: false,
    },
  };
  assert.ok((await server.client.create(podKind, pod as never)).ok);

  const startMs = performance.now();
  const answer = await askHttps(server, {
    path: "/api/v1/namespaces/default/pods/p/log",
    token: "admin",
  });
  const tookMs = performance.now() - startMs;

  assert.equal(answer.code, 500, answer.text);
  assert.match(answer.json.message, /: dial tcp 127\.0\.0\.1:\d+: i\/o timeout$/);
  assert.ok(tookMs > 400 && tookMs < DEFAULT_MS, `${tookMs} ms`);
});

interface StuckListener extends AsyncDisposable {
  readonly port: number;
}

/** A stopped process whose queue of connections is full: the kernel answers no further SYN for it. */
async function startStuckListener(): Promise<StuckListener> {
  const child = spawn(process.execPath, ["-e", LISTEN], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const port = Number(String(line));
  child.kill("SIGSTOP");
  const waiting: Socket[] = [];
  for (let isAccepted = true; isAccepted; ) {
    const socket = connect({ port, host: "127.0.0.1" }).on("error", () => undefined);
    waiting.push(socket);
    isAccepted = await Promise.race([once(socket, "connect").then(() => true), sleep(300, false)]);
  }
  return {
    port,
    [Symbol.asyncDispose]: async () => {
      for (const socket of waiting) socket.destroy();
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    },
  };
}
