/**
 * Logs, exec, attach, port-forward and the proxies, through the API server to a kubelet that is a
 * real HTTPS server, with the upstream kubectl where there is one.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import { connect as connectTcp } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, test } from "vitest";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { serviceAccountKind } from "#api/kinds/core/v1/service-account.ts";
import { missingProgram } from "../../tools/debian-packages.ts";
import { askHttps, authorityOf } from "./https-ask.ts";
import { startTestKubelet, type TestKubelet } from "./test-kubelet.ts";
import { startTestServer, type TestServer } from "./test-server.ts";
import { webSocketClient } from "./websocket-client.ts";

const directory = mkdtempSync(join(tmpdir(), "k8ts-test-streams-"));
const TOKENS = ["admin,admin,1,system:masters", "viewer,viewer,2,viewers"].join("\n");
let server: TestServer;
let kubelet: TestKubelet;
let modern: TestKubelet;
let stranger: TestKubelet;

beforeAll(async () => {
  kubelet = await startTestKubelet({ directory });
  modern = await startTestKubelet({ directory, webSocket: true });
  const elsewhere = mkdtempSync(join(directory, "stranger-"));
  stranger = await startTestKubelet({ directory: elsewhere });
  server = await startTestServer({
    tokens: TOKENS,
    flags: [
      ...["--kubelet-certificate-authority", kubelet.caFile],
      ...["--kubelet-preferred-address-types", "InternalIP"],
    ],
  });
  const account = { metadata: { name: "default", namespace: "default" } };
  done(await server.client.create(serviceAccountKind, account));
  await addNode("old", kubelet.port);
  await addNode("new", modern.port, ["ExtendWebSocketsToKubelet"]);
  await addNode("untrusted", stranger.port);
  await addNode("down", 1);
  for (const node of ["old", "new", "untrusted", "down"]) {
    await addPod(`on-${node}`, node, ["main"]);
  }
  await addPod("p", "old", ["main", "starting", "gone", "refused"], ["first"]);
  await addPod("nowhere", "", ["main"]);
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  for (const one of [kubelet, modern, stranger]) await one[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

async function addNode(name: string, port: number, declaredFeatures: string[] = []): Promise<void> {
  done(await server.client.create(nodeKind, { metadata: { name }, spec: {} } as never));
  const status = {
    addresses: [
      { type: "Hostname", address: "nowhere.invalid" },
      { type: "InternalIP", address: "127.0.0.1" },
    ],
    daemonEndpoints: { kubeletEndpoint: { Port: port } },
    declaredFeatures,
  };
  const key = { namespace: "", name };
  done(await server.client.patch(nodeKind, key, "merge", { status }, { subresource: "status" }));
}

async function addPod(
  name: string,
  nodeName: string,
  containers: readonly string[],
  initContainers: readonly string[] = [],
): Promise<void> {
  const container = (one: string) => ({ name: one, image: "x" });
  const spec = {
    ...(nodeName === "" ? {} : { nodeName }),
    containers: containers.map(container),
    initContainers: initContainers.map(container),
    automountServiceAccountToken: false,
  };
  const pod = { metadata: { name, namespace: "default" }, spec };
  done(await server.client.create(podKind, pod as never));
}

function done({ ok, ...rest }: { ok: boolean }): void {
  assert.ok(ok, JSON.stringify(rest));
}

const POD = "/api/v1/namespaces/default/pods";

describe("logs", () => {
  const rows = [
    { query: "container=main", code: 200, text: "first line\n" },
    {
      query: "",
      code: 400,
      text: "a container name must be specified for pod p, choose one of: [first main starting gone refused]",
    },
    { query: "container=zz", code: 400, text: "container zz is not valid for pod p" },
    {
      query: "container=starting",
      code: 400,
      text: 'container "starting" in pod "p" is waiting to start: ContainerCreating',
    },
    {
      query: "container=gone",
      code: 404,
      text: "the server could not find the requested resource ( pods/log p)",
    },
    {
      query: "container=main&tailLines=-1&limitBytes=0",
      code: 422,
      text: 'PodLogOptions "p" is invalid: [tailLines: Invalid value: -1: must be greater than or equal to 0, limitBytes: Invalid value: 0: must be greater than 0]',
    },
    {
      query: "container=main&tailLines=x",
      code: 400,
      text: 'strconv.ParseInt: parsing "x": invalid syntax',
    },
  ];
  for (const { query, code, text } of rows) {
    test(`GET log?${query} answers ${code}`, async () => {
      const answer = await askHttps(server, { path: `${POD}/p/log?${query}`, token: "admin" });
      assert.equal(answer.code, code);
      assert.equal(answer.json?.message ?? answer.text, text);
    });
  }

  test("the kubelet is asked with the server's certificate, and options in order", async () => {
    const query = "container=main&timestamps=true&tailLines=3&previous=true&sinceSeconds=5";
    await askHttps(server, { path: `${POD}/p/log?${query}`, token: "admin" });
    const { line, by } = kubelet.asked.at(-1)!;
    assert.equal(
      line,
      "GET /containerLogs/default/p/main?previous=true&sinceSeconds=5&tailLines=3&timestamps=true",
    );
    assert.equal(by, "kube-apiserver-kubelet-client");
  });

  const faults = [
    {
      pod: "on-untrusted",
      text: /^Get "https:\/\/127.0.0.1:\d+\/containerLogs\/default\/on-untrusted\/main": tls: failed to verify certificate: x509: certificate signed by unknown authority$/,
    },
    {
      pod: "on-down",
      text: /^Get "https:\/\/127.0.0.1:1\/containerLogs\/default\/on-down\/main": dial tcp 127.0.0.1:1: connect: connection refused$/,
    },
  ];
  for (const { pod, text } of faults) {
    test(`the log of pod ${pod} answers 500 and says why`, async () => {
      const { code, json } = await askHttps(server, { path: `${POD}/${pod}/log`, token: "admin" });
      assert.equal(code, 500);
      assert.match(json.message, text);
      assert.equal(json.reason, undefined);
    });
  }

  test("a client may do without the kubelet's certificate being checked", async () => {
    const path = `${POD}/on-untrusted/log?insecureSkipTLSVerifyBackend=true`;
    assert.equal((await askHttps(server, { path, token: "admin" })).text, "first line\n");
  });

  test("a pod that runs nowhere has none", async () => {
    const { code, text } = await askHttps(server, { path: `${POD}/nowhere/log`, token: "admin" });
    assert.deepEqual([code, text], [204, ""]);
  });
});

test("a log is followed over HTTP/2 too, to its end", async () => {
  const session = connectHttp2(`https://127.0.0.1:${server.port}`, { ca: authorityOf(server) });
  const lines: string[] = [];
  const asked = session.request({
    ":path": `${POD}/on-old/log?follow=true`,
    authorization: "Bearer admin",
  });
  asked.on("data", (chunk: Buffer) => lines.push(String(chunk)));
  await until(() => lines.length === 1); // before there is more
  kubelet.log("later");
  await until(() => lines.length === 2);
  kubelet.log("");
  await once(asked, "end");
  session.close();
  assert.deepEqual(lines, ["first line\n", "later\n"]);
});

describe("k8ts: refusals", () => {
  const spdy = { connection: "Upgrade", upgrade: "SPDY/3.1" };
  const rows = [
    { path: "on-old/exec?stdout=1", headers: {}, code: 400, text: "Upgrade request required" },
    {
      path: "nowhere/exec?stdout=1",
      headers: spdy,
      code: 400,
      text: "pod nowhere does not have a host assigned",
    },
    {
      path: "on-down/exec?stdout=1",
      headers: spdy,
      code: 500,
      text: "error dialing backend: dial tcp 127.0.0.1:1: connect: connection refused",
    },
    {
      path: "on-untrusted/exec?stdout=1",
      headers: spdy,
      code: 500,
      text: "error dialing backend: tls: failed to verify certificate: x509: certificate signed by unknown authority",
    },
    { path: "p/exec?stdout=1&container=refused", headers: spdy, code: 403, text: "nope" },
    { path: "zz/portforward", headers: spdy, code: 404, text: 'pods "zz" not found' },
  ];
  for (const { path, headers, code, text } of rows) {
    test(`${path}: ${text}`, async () => {
      const ask = { method: "POST", path: `${POD}/${path}`, token: "admin", headers };
      const answer = await askHttps(server, ask);
      assert.equal(answer.code, code);
      assert.equal(answer.json?.message ?? answer.text, text);
    });
  }

  test("who may only read cannot run commands over a WebSocket", async () => {
    const role = {
      rules: [{ apiGroups: [""], resources: ["pods/exec"], verbs: ["get"] }],
    };
    const at = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    const meta = { metadata: { name: "execs" } };
    const post = (path: string, body: object) =>
      askHttps(server, { method: "POST", path: `${at}/${path}`, token: "admin", body });
    await post("roles", { ...meta, ...role });
    await post("rolebindings", {
      ...meta,
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "execs" },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "viewer" }],
    });
    const path = `${POD}/on-old/exec?command=echo&stdout=1`;
    const { code, json } = await askHttps(server, { path, token: "viewer" });
    assert.equal(code, 403);
    assert.match(json.message, /^pods "on-old" is forbidden: User "viewer" cannot create /);
  });
});

describe("WebSocket by hand", () => {
  const open = async (
    path: string,
    protocol: string,
    more: readonly string[] = [],
  ): Promise<[TLSSocket, string, Buffer]> => {
    const socket = connectTls({ host: "127.0.0.1", port: server.port, ca: authorityOf(server) });
    await once(socket, "secureConnect");
    const lines = [
      `GET ${path} HTTP/1.1`,
      `Host: 127.0.0.1:${server.port}`,
      "Authorization: Bearer admin",
      "Connection: Upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Version: 13",
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
      ...(protocol === "" ? [] : [`Sec-WebSocket-Protocol: ${protocol}`]),
      ...more,
    ];
    socket.write(`${lines.join("\r\n")}\r\n\r\n`);
    let bytes = Buffer.alloc(0);
    for (;;) {
      const [chunk] = (await once(socket, "data")) as [Buffer];
      bytes = Buffer.concat([bytes, chunk]);
      const end = bytes.indexOf("\r\n\r\n");
      if (end >= 0) return [socket, bytes.toString("utf8", 0, end), bytes.subarray(end + 4)];
    }
  };

  for (const pod of ["on-old", "on-new"]) {
    test(`${pod}: channels, the end of input, the exit status`, async () => {
      const path = `${POD}/${pod}/exec?command=cat&stdin=1&stdout=1&stderr=1`;
      const [socket, head, rest] = await open(path, "v5.channel.k8s.io,v4.channel.k8s.io");
      assert.match(head, /^HTTP\/1\.1 101 /);
      assert.match(head, /Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=/);
      assert.match(head, /Sec-WebSocket-Protocol: v5\.channel\.k8s\.io/);
      const client = webSocketClient(socket, rest);
      await client.send(Buffer.from("\0hello"));
      await client.send(Buffer.of(255, 0));
      const got: Record<number, string> = {};
      for await (const { data } of client.messages()) {
        got[data[0]!] = (got[data[0]!] ?? "") + data.toString("utf8", 1);
      }
      assert.equal(got[1], "hello");
      assert.deepEqual(JSON.parse(got[3]!), { metadata: {}, status: "Success" });
    });
  }

  test("kubelets that speak only SPDY are spoken to in SPDY, others as the client does", () => {
    const of = (one: TestKubelet) =>
      one.asked.filter(({ line }) => line.includes("/exec/")).map(({ upgrade }) => upgrade);
    assert.ok(of(kubelet).every((upgrade) => upgrade === "SPDY/3.1"));
    assert.ok(of(modern).includes("websocket"));
  });

  for (const [pod, which] of [
    ["on-old", () => kubelet],
    ["on-new", () => modern],
  ] as const) {
    test(`${pod}: a client that goes away ends the command`, async () => {
      const before = which().connections;
      const path = `${POD}/${pod}/exec?command=cat&stdin=1&stdout=1`;
      const [socket] = await open(path, "v5.channel.k8s.io");
      await until(() => which().connections === before + 1);
      socket.destroy();
      await until(() => which().connections <= before);
    });
  }

  test("a large output comes whole", async () => {
    const path = `${POD}/on-old/exec?command=many&command=4194304&stdout=1`;
    const [socket, , rest] = await open(path, "v5.channel.k8s.io");
    let bytes = 0;
    for await (const { data } of webSocketClient(socket, rest).messages()) {
      if (data[0] === 1) bytes += data.length - 1;
    }
    assert.equal(bytes, 4_194_304);
  });

  for (const { protocol, messages } of [
    { protocol: "", messages: ["binary:", "binary:first line\n"] },
    { protocol: "binary.k8s.io", messages: ["binary:", "binary:first line\n"] },
    { protocol: "base64.binary.k8s.io", messages: ["text:", "text:Zmlyc3QgbGluZQo="] },
  ]) {
    test(`a log as messages, with ${protocol || "no protocol"}`, async () => {
      const [socket, head, rest] = await open(`${POD}/on-old/log`, protocol);
      assert.match(head, /^HTTP\/1\.1 101 /);
      assert.equal(/Sec-WebSocket-Protocol: (.*)/.exec(head)?.[1] ?? "", protocol);
      const got: string[] = [];
      for await (const one of webSocketClient(socket, rest).messages()) {
        got.push(`${one.text ? "text" : "binary"}:${one.data.toString()}`);
      }
      assert.deepEqual(got, messages);
    });
  }

  const WATCH = "/api/v1/namespaces?watch=true&resourceVersion=0&timeoutSeconds=1";
  const ORIGIN = "Origin: http://localhost";
  test("a watch as messages, one for each event", async () => {
    for (const accept of ["application/json", "application/vnd.kubernetes.protobuf;stream=watch"]) {
      const [socket, head, rest] = await open(WATCH, "", [ORIGIN, `Accept: ${accept}`]);
      assert.match(head, /^HTTP\/1\.1 101 /);
      const names: string[] = [];
      let messages = 0;
      for await (const { text, data } of webSocketClient(socket, rest).messages()) {
        messages++;
        assert.equal(text, accept === "application/json");
        if (text) names.push(JSON.parse(data.toString()).object.metadata.name);
        else assert.equal(data.toString("latin1", 0, 7), "\n\u0005ADDED");
      }
      assert.ok(messages > 0);
      assert.equal(names.includes("kube-system"), accept === "application/json", String(names));
    }
  });

  test("a watch for a page is refused without its origin, or with a choice of protocols", async () => {
    const [, forbidden] = await open(WATCH, "");
    assert.match(forbidden, /^HTTP\/1\.1 403 /);
    const [, bad] = await open(WATCH, "a, b", [ORIGIN]);
    assert.match(bad, /^HTTP\/1\.1 400 /);
    const [, protocol] = await open(`${POD}/on-old/log`, "other");
    assert.match(protocol, /^HTTP\/1\.1 403 /);
  });

  test("a page that leaves ends its watch", async () => {
    const [socket, , rest] = await open("/api/v1/configmaps?watch=true", "", [ORIGIN]);
    const client = webSocketClient(socket, rest);
    const over = (async () => {
      for await (const _ of client.messages());
    })();
    client.close();
    await over;
    await until(() => socket.destroyed || socket.closed);
  });

  const frames: { name: string; bytes: Buffer; code: number }[] = [
    { name: "a frame that is not masked", bytes: Buffer.of(0x82, 1, 0), code: 1002 },
    { name: "a reserved opcode", bytes: Buffer.of(0x83, 0x80, 0, 0, 0, 0), code: 1002 },
    {
      name: "a frame of 4 GiB",
      bytes: Buffer.of(0x82, 0xff, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0),
      code: 1009,
    },
    {
      name: "text that is not UTF-8",
      bytes: Buffer.of(0x81, 0x81, 0, 0, 0, 0, 0xff),
      code: 1007,
    },
  ];
  for (const { name, bytes, code } of frames) {
    test(`WebSocket: ${name} is refused with close code ${code}`, async () => {
      const path = `${POD}/on-old/exec?command=cat&stdin=1&stdout=1`;
      const [socket, , rest] = await open(path, "v5.channel.k8s.io");
      let got = rest;
      socket.on("data", (chunk: Buffer) => {
        got = Buffer.concat([got, chunk]);
      });
      socket.write(bytes);
      const close = Buffer.of(0x88, 2, code >> 8, code & 0xff);
      await until(
        () => got.includes(close),
        () => `no close frame in ${got.toString("hex")}`,
      );
      socket.destroy();
    });
  }

  test("WebSocket: a handshake without Sec-WebSocket-Key is refused with 400", async () => {
    const { code } = await askHttps(server, {
      path: `${POD}/on-old/exec?command=cat&stdout=1`,
      token: "admin",
      headers: {
        connection: "Upgrade",
        upgrade: "websocket",
        "sec-websocket-protocol": "v5.channel.k8s.io",
      },
    });
    assert.equal(code, 400);
  });

  test("WebSocket: a ping is answered with a pong of the same payload", async () => {
    const path = `${POD}/on-old/exec?command=cat&stdin=1&stdout=1`;
    const [socket, , rest] = await open(path, "v5.channel.k8s.io");
    let got = rest;
    socket.on("data", (chunk: Buffer) => {
      got = Buffer.concat([got, chunk]);
    });
    socket.write(Buffer.of(0x89, 0x82, 0, 0, 0, 0, 0x68, 0x69));
    await until(() => got.includes(Buffer.of(0x8a, 2, 0x68, 0x69)));
    socket.destroy();
  });

  test("errors behind the WebSocket are sent on the error channel", async () => {
    const [socket, , rest] = await open(
      `${POD}/on-down/exec?command=x&stdout=1`,
      "v5.channel.k8s.io",
    );
    let sent = "";
    for await (const { data } of webSocketClient(socket, rest).messages()) {
      if (data[0] === 3) sent += data.toString("utf8", 1);
    }
    assert.equal(
      JSON.parse(sent).message,
      'Internal error occurred: error sending request: Post "https://127.0.0.1:1/exec/default/on-down/main?command=x&output=1": dial tcp 127.0.0.1:1: connect: connection refused',
    );
  });
});

describe("node proxy", () => {
  test("a node's own address may not be loopback", async () => {
    const path = "/api/v1/nodes/old/proxy/healthz";
    const { code, json } = await askHttps(server, { path, token: "admin" });
    assert.deepEqual([code, json.message], [400, "address not allowed"]);
  });
});

const missing = missingProgram("kubectl");

describe.skipIf(missing !== undefined)("kubectl against the streams of a kubelet", () => {
  const programs = missing === undefined ? kubectlPrograms() : [];

  for (const program of programs) {
    for (const webSockets of ["true", "false"]) {
      for (const pod of ["on-old", "on-new"]) {
        test(`${program.split("/").at(-1)}, WebSocket ${webSockets}, ${pod}`, async () => {
          const env = { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: webSockets };
          const run = (words: string, input = "") => kubectl(program, words.split(" "), env, input);
          const cat = await run(`exec -i ${pod} -- cat`, "typed\n");
          // Old clients log the server's first, empty message if it comes before their stream is made.
          const err = cat.err.replace(/^.*Unknown stream id 1, discarding message\n/m, "");
          assert.deepEqual({ ...cat, err }, { code: 0, out: "typed\n", err: "" });
          let failed = await run(`exec ${pod} -- fail 3`);
          // Likewise, and then they do not learn the exit code.
          while (/Unknown stream id/.test(failed.err)) failed = await run(`exec ${pod} -- fail 3`);
          assert.equal(failed.code, 3, failed.err);
          assert.match(failed.err, /no fail\n.*command terminated with exit code 3/s);
        });
      }
    }
  }

  const newest = programs.at(-1) ?? "kubectl";

  test("attach -i sends its input to the container", async () => {
    const { out } = await kubectl(newest, ["attach", "-i", "on-old"], {}, "to the pod\n");
    assert.match(out, /to the pod/);
  });

  test("logs -f", async () => {
    const before = kubelet.asked.length;
    const following = kubectl(newest, ["logs", "-f", "on-old"], {}, "");
    await until(() =>
      kubelet.asked.slice(before).some(({ line }) => line.includes("on-old/main?follow=true")),
    );
    kubelet.log("second line");
    kubelet.log("");
    assert.equal((await following).out, "first line\nsecond line\n");
  });

  for (const webSockets of ["true", "false"]) {
    test(`port-forward, WebSocket ${webSockets}`, async () => {
      await addRunning("on-old");
      const child = spawn(newest, ["port-forward", "pod/on-old", ":8080"], {
        env: { ...environment(), KUBECTL_PORT_FORWARD_WEBSOCKETS: webSockets },
      });
      try {
        let said = "";
        child.stderr.on("data", (chunk) => {
          said += chunk;
        });
        child.stdout.on("data", (chunk) => {
          said += chunk;
        });
        await until(
          () => /Forwarding from 127\.0\.0\.1:\d+/.test(said),
          () => said,
        );
        const port = Number(/Forwarding from 127\.0\.0\.1:(\d+)/.exec(said)![1]);
        for (const word of ["one", "two"]) {
          const socket = connectTcp(port, "127.0.0.1");
          socket.write(word);
          const [chunk] = (await once(socket, "data")) as [Buffer];
          assert.equal(String(chunk), `8080:${word.toUpperCase()}`);
          socket.end();
        }
      } finally {
        child.kill();
      }
    });
  }

  const addRunning = async (name: string): Promise<void> => {
    const key = { namespace: "default", name };
    const status = { phase: "Running" };
    done(await server.client.patch(podKind, key, "merge", { status }, { subresource: "status" }));
  };
});

function kubectlPrograms(): string[] {
  const path = (process.env.PATH ?? "").split(":").map((one) => join(one, "kubectl"));
  const found = path.find((one) => existsSync(one))!;
  const versions = ["1.27", "1.29", "1.31", "1.33"];
  const beside = versions.map((one) => join(dirname(realpathSync(found)), `kubectl.${one}`));
  return [found, ...beside.filter((one) => existsSync(one))];
}

function environment(): Record<string, string> {
  return {
    PATH: process.env.PATH ?? "",
    HOME: server.directory,
    KUBECONFIG: server.kubeconfig,
  };
}

function kubectl(
  program: string,
  words: readonly string[],
  env: Record<string, string>,
  input: string,
): Promise<{ code: number | null; out: string; err: string }> {
  const child = spawn(program, words, { env: { ...environment(), ...env } });
  let [out, err] = ["", ""];
  child.stdout.on("data", (chunk) => {
    out += chunk;
  });
  child.stderr.on("data", (chunk) => {
    err += chunk;
  });
  child.stdin.on("error", () => undefined);
  child.stdin.end(input);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, out, err }));
  });
}

async function until(holds: () => boolean, what = () => "it never was so"): Promise<void> {
  for (let tries = 0; tries < 1_000; tries++) {
    if (holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  assert.fail(what());
}
