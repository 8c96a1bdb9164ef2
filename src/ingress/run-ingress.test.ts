/** The Ingress controller on the real API server, with real HTTP servers as endpoints. */
import assert from "node:assert/strict";
import {
  Agent,
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type RequestListener,
} from "node:http";
import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2";
import { request as httpsRequest, Agent as TlsAgent } from "node:https";
import { type AddressInfo, connect as connectTcp, type Server } from "node:net";
import { connect as connectTls } from "node:tls";
import { afterAll, beforeAll, describe, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import type { EndpointSlice } from "#api/generated/discovery.v1.ts";
import type { Ingress } from "#api/generated/networking.v1.ts";
import { secretKind } from "#api/kinds/core/v1/config/secret.ts";
import { eventKind } from "#api/kinds/core/v1/event/event.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { endpointSliceKind } from "#api/kinds/discovery/v1/endpoint-slice.ts";
import { ingressKind } from "#api/kinds/networking/v1/ingress.ts";
import { ingressClassKind } from "#api/kinds/networking/v1/ingress-class.ts";
import { silentLogger } from "#lib/logger.ts";
import { Metrics } from "#lib/metrics.ts";
import { seededRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { type Cluster, startCluster } from "#testing/cluster.ts";
import { servingPair } from "#testing/serving-pair.ts";
import { until } from "../../test/e2e/node/eventually.ts";
import { missingProgram } from "../../tools/debian-packages.ts";
import type { AccessEntry } from "./data-plane/data-plane.ts";
import { DATA_PLANES } from "./data-plane-name.ts";
import { CONTROLLER } from "./routes/build-routing-table.ts";
import { runIngress } from "./run-ingress.ts";

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers: IncomingHttpHeaders;
}

const withoutNginx = missingProgram("/usr/share/lua/5.1/resty/core.lua");
const planes = DATA_PLANES.filter((name) => name !== "nginx" || withoutNginx === undefined);

describe.each(planes)("Ingress on the API server, data plane %s", (dataPlane) => {
  const life = new AbortController();
  const metrics = new Metrics();
  const log: AccessEntry[] = [];
  const servers: Server[] = [];
  let cluster: Cluster;
  let ports: Awaited<ReturnType<typeof runIngress>["listening"]> = { httpPort: 0, httpsPort: 0 };
  let done: Promise<void>;

  beforeAll(async () => {
    cluster = await startCluster();
    await cluster.seed(ingressClassKind, {
      metadata: { name: "k8ts", namespace: "" },
      spec: { controller: CONTROLLER },
    });
    const ingress = runIngress(
      {
        ...{ client: cluster.client, clock: systemClock, random: seededRandom(1), metrics },
        ...{ logger: silentLogger, addresses: ["127.0.0.1"], httpPort: 0, httpsPort: 0 },
        defaultCertificate: servingPair(),
        publish: { addresses: [{ ip: "192.0.2.7" }] },
        limits: { requestsMax: 500 },
        drainMs: 1_000,
        dataPlane,
        onAccess: (entry) => void log.push(entry),
      },
      life.signal,
    );
    await ingress.ready;
    ports = await ingress.listening;
    done = ingress.done;
  });

  afterAll(async () => {
    life.abort();
    await done;
    for (const server of servers) server.close();
    await cluster[Symbol.asyncDispose]();
  });

  const listen = async (server: Server): Promise<number> => {
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return (server.address() as AddressInfo).port;
  };
  const serve = (listener: RequestListener): Promise<number> => listen(createServer(listener));
  const named = (name: string): Promise<number> =>
    serve((request, response) => {
      response.setHeader("X-Endpoint", name);
      response.end(JSON.stringify({ name, url: request.url, headers: request.headers }));
    });

  /** A Service whose endpoints are these ports of the machine, each with its conditions. */
  const seedService = async (
    name: string,
    endpointPorts: readonly number[],
    appProtocol?: string,
  ): Promise<void> => {
    const protocol = appProtocol === undefined ? {} : { appProtocol };
    await cluster.seed(serviceKind, {
      metadata: { name },
      spec: { ports: [{ name: "web", port: 80, protocol: "TCP", ...protocol }] },
    });
    for (const port of endpointPorts) await cluster.seed(endpointSliceKind, sliceOf(name, port));
  };

  const seedIngress = async (
    name: string,
    service: string,
    annotations: Record<string, string> = {},
    spec: Partial<Ingress["spec"]> = {},
    path: { path: string; pathType: string } = { path: "/", pathType: "Prefix" },
  ): Promise<void> => {
    const backend = { service: { name: service, port: { number: 80 } } };
    const rules = [{ host: `${name}.test`, http: { paths: [{ ...path, backend }] } }];
    await cluster.seed(ingressKind, {
      metadata: { name, annotations },
      spec: { ingressClassName: "k8ts", rules, ...spec },
    });
  };

  interface Wish {
    readonly method?: string;
    readonly headers?: Record<string, string>;
    readonly body?: string | Buffer;
    readonly tls?: boolean;
  }
  const ask = (host: string, path = "/", wish: Wish = {}): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const { method = "GET", headers = {}, body, tls = false } = wish;
      const options = { host: "127.0.0.1", method, path, headers: { host, ...headers } };
      const agent = { agent: false as const };
      const request = tls
        ? httpsRequest({
            ...options,
            ...agent,
            port: ports.httpsPort,
            servername: host,
            rejectUnauthorized: false,
          })
        : httpRequest({ ...options, ...agent, port: ports.httpPort });
      request.on("error", reject);
      request.on("response", (response) => {
        let text = "";
        response.on("error", reject);
        response.on("data", (chunk) => (text += chunk));
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, body: text, headers: response.headers }),
        );
      });
      request.end(body);
    });
  const untilServed = (host: string, path = "/"): Promise<unknown> =>
    until(async () => {
      const { status } = await ask(host, path);
      return status !== 404 && status !== 503;
    });

  test("requests reach endpoints with X-Forwarded-*, others get 404; status.loadBalancer is published", async () => {
    await seedService("plain", [await named("a")]);
    await seedIngress("plain", "plain");
    await untilServed("plain.test");
    const claimed = { "x-forwarded-for": "1.2.3.4", connection: "x-secret", "x-secret": "1" };
    const { status, body } = await ask("plain.test", "/x?y=1", { headers: claimed });
    assert.equal(status, 200);
    const seen = JSON.parse(body);
    assert.equal(seen.url, "/x?y=1");
    assert.equal(seen.headers.host, "plain.test");
    assert.equal(seen.headers["x-forwarded-for"], "127.0.0.1");
    assert.equal(seen.headers["x-forwarded-proto"], "http");
    assert.equal(seen.headers["x-forwarded-host"], "plain.test");
    assert.equal(seen.headers["x-secret"], undefined);
    assert.equal((await ask("other.test")).status, 404);
    assert.equal((await ask("plain.test", "/a/%2e%2e/b")).status, 400);
    await until(() => {
      const ingress = cluster.get(ingressKind, "plain");
      return ingress?.status.loadBalancer.ingress?.[0]?.ip === "192.0.2.7";
    });
    await ports.count?.();
    assert.match(
      metrics.text(),
      /k8ts_ingress_requests_total\{namespace="default",ingress="plain",service="plain",code="200"\}/,
    );
    // nginx writes its own log.
    if (dataPlane === "built-in")
      assert.ok(log.some((entry) => entry.ingress === "default/plain" && entry.status === 200));
  });

  test("requests go round ready endpoints; an endpoint that refuses connections loses no request", async () => {
    const gone = createServer();
    const goneAt = await listen(gone);
    await new Promise((resolve) => gone.close(resolve));
    await seedService("round", [await named("a"), await named("b"), goneAt]);
    await seedIngress("round", "round");
    await untilServed("round.test");
    const names = new Map<unknown, number>();
    for (let i = 0; i < 40; i++) {
      const { status, headers } = await ask("round.test", "/", { method: "POST", body: "x" });
      assert.equal(status, 200);
      const name = headers["x-endpoint"];
      names.set(name, (names.get(name) ?? 0) + 1);
    }
    assert.deepEqual([...names.keys()].sort(), ["a", "b"]);
    assert.ok(
      [...names.values()].every((count) => count >= 10),
      JSON.stringify([...names]),
    );
  });

  test("affinity cookie: the same endpoint until it is gone", async () => {
    const sticky = [await named("a"), await named("b"), await named("c")];
    await seedService("sticky", sticky);
    await seedIngress("sticky", "sticky", { "ingress.k8ts.io/affinity": "cookie" });
    await untilServed("sticky.test");
    const first = await ask("sticky.test");
    const cookie = first.headers["set-cookie"]?.[0]?.split(";")[0] ?? "";
    assert.match(cookie, /^INGRESSCOOKIE=/);
    for (let i = 0; i < 6; i++) {
      const again = await ask("sticky.test", "/", { headers: { cookie } });
      assert.equal(again.headers["x-endpoint"], first.headers["x-endpoint"]);
      assert.equal(again.headers["set-cookie"], undefined);
    }
    const index = ["a", "b", "c"].indexOf(String(first.headers["x-endpoint"]));
    await cluster.edit(endpointSliceKind, `sticky-${sticky[index]}`, (slice) => {
      slice.endpoints = [
        { addresses: ["127.0.0.1"], conditions: { ready: false, serving: false } },
      ];
    });
    await until(async () => {
      const { headers } = await ask("sticky.test", "/", { headers: { cookie } });
      return headers["x-endpoint"] !== first.headers["x-endpoint"];
    });
  });

  test("tls: certificates by SNI, redirect of HTTP, a changed Secret serves the next handshake", async () => {
    const [one, two] = [servingPair(), servingPair()];
    const data = ({ cert, key }: { cert: string; key: string }) => ({
      "tls.crt": Buffer.from(cert).toString("base64"),
      "tls.key": Buffer.from(key).toString("base64"),
    });
    const served = (): Promise<string> =>
      new Promise((resolve, reject) => {
        const socket = connectTls({
          port: ports.httpsPort,
          host: "127.0.0.1",
          servername: "tls.test",
          rejectUnauthorized: false,
        });
        socket.on("error", reject);
        socket.on("secureConnect", () => {
          resolve(socket.getPeerX509Certificate()?.toString().trim() ?? "");
          socket.destroy();
        });
      });
    await seedService("tls", [await named("a")]);
    await cluster.seed(secretKind, {
      metadata: { name: "pair" },
      type: "kubernetes.io/tls",
      data: data(one),
    });
    await seedIngress("tls", "tls", {}, { tls: [{ hosts: ["tls.test"], secretName: "pair" }] });
    await untilServed("tls.test");
    await until(async () => (await served()) === one.cert.trim());
    const { status, headers } = await ask("tls.test", "/x?y");
    assert.equal(status, 308);
    assert.equal(headers.location, `https://tls.test:${ports.httpsPort}/x?y`);
    const secure = await ask("tls.test", "/", { tls: true });
    assert.equal(JSON.parse(secure.body).headers["x-forwarded-proto"], "https");
    const open = new TlsAgent({ keepAlive: true, maxSockets: 1 });
    const onOpenConnection = (): Promise<{ status: number; isReused: boolean }> =>
      new Promise((resolve, reject) => {
        const place = { host: "127.0.0.1", port: ports.httpsPort, servername: "tls.test" };
        const headers = { host: "tls.test" };
        const options = { ...place, headers, agent: open, rejectUnauthorized: false };
        const request = httpsRequest(options, (response) =>
          response.resume().on("end", () =>
            resolve({
              status: response.statusCode ?? 0,
              isReused: request.reusedSocket,
            }),
          ),
        );
        request.on("error", reject);
        request.end();
      });
    assert.deepEqual(await onOpenConnection(), { status: 200, isReused: false });
    await cluster.edit(secretKind, "pair", (secret) => {
      secret.data = data(two);
    });
    await until(async () => (await served()) === two.cert.trim());
    // The connection from before the change is still there.
    assert.deepEqual(await onOpenConnection(), { status: 200, isReused: true });
    open.destroy();
  });

  test("WebSocket: messages in both directions", async () => {
    const http = createServer((_request, response) => response.end());
    new WebSocketServer({ server: http }).on("connection", (socket) => {
      socket.on("message", (message) => socket.send(`echo ${message}`));
    });
    await seedService("ws", [await listen(http)]);
    await seedIngress("ws", "ws");
    await untilServed("ws.test");
    const socket = new WebSocket(`ws://127.0.0.1:${ports.httpPort}/`, {
      headers: { host: "ws.test" },
    });
    const answer = await new Promise((resolve, reject) => {
      socket.on("error", reject);
      socket.on("open", () => socket.send("hello"));
      socket.on("message", (message) => resolve(String(message)));
    });
    assert.equal(answer, "echo hello");
    socket.terminate();
  });

  test("gRPC: HTTP/2 to the endpoint, trailers reach the client", async () => {
    const grpc = createHttp2Server();
    grpc.on("stream", (stream, headers) => {
      stream.respond(
        { ":status": 200, "content-type": "application/grpc" },
        { waitForTrailers: true },
      );
      stream.on("wantTrailers", () =>
        stream.sendTrailers({ "grpc-status": "0", "x-te": String(headers.te) }),
      );
      stream.pipe(stream);
    });
    await seedService("grpc", [await listen(grpc)], "kubernetes.io/h2c");
    await seedIngress("grpc", "grpc");
    await untilServed("grpc.test");
    // Without TLS nginx speaks HTTP/1.1 only.
    const session =
      dataPlane === "nginx"
        ? connectHttp2(`https://127.0.0.1:${ports.httpsPort}`, { rejectUnauthorized: false })
        : connectHttp2(`http://127.0.0.1:${ports.httpPort}`);
    const stream = session.request({
      ...{ ":method": "POST", ":path": "/pkg.Service/Call", ":authority": "grpc.test" },
      ...{ "content-type": "application/grpc", te: "trailers" },
    });
    let body = "";
    let trailers: Record<string, unknown> = {};
    stream.on("data", (chunk) => (body += chunk));
    stream.on("trailers", (given) => (trailers = given));
    stream.end("message");
    await new Promise((resolve, reject) => stream.on("close", resolve).on("error", reject));
    session.destroy();
    assert.equal(body, "message");
    assert.equal(trailers["grpc-status"], "0");
    assert.equal(trailers["x-te"], "trailers");
  });

  test("server-sent events arrive before the response ends", async () => {
    const port = await serve((_request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("data: 1\n\n"); // and never more
    });
    await seedService("sse", [port]);
    await seedIngress("sse", "sse");
    const firstChunk = (): Promise<string> =>
      new Promise((resolve, reject) => {
        const place = { port: ports.httpPort, host: "127.0.0.1", agent: false as const };
        const request = httpRequest({ ...place, headers: { host: "sse.test" } });
        request.on("error", reject);
        request.on("response", (response) => {
          response.on("error", () => undefined);
          response.once("data", (data) => {
            resolve(String(data));
            request.destroy();
          });
        });
        request.end();
      });
    await until(async () => (await firstChunk()) === "data: 1\n\n");
  });

  test("annotations: rewrite-target, proxy-body-size and proxy-read-timeout", async () => {
    const port = await serve((request, response) => {
      if (request.url === "/slow") return;
      request.resume().on("end", () => response.end(request.url));
    });
    await seedService("noted", [port]);
    const regex = { path: "/app(/|$)(.*)", pathType: "ImplementationSpecific" };
    await seedIngress(
      "noted",
      "noted",
      {
        "ingress.k8ts.io/rewrite-target": "/$2",
        "nginx.ingress.kubernetes.io/proxy-body-size": "1k",
        "ingress.k8ts.io/proxy-read-timeout": "1",
      },
      {},
      regex,
    );
    await untilServed("noted.test", "/app");
    assert.equal((await ask("noted.test", "/app/a/b?c")).body, "/a/b?c");
    const large = Buffer.alloc(2_048);
    assert.equal((await ask("noted.test", "/app", { method: "POST", body: large })).status, 413);
    const chunked = { "transfer-encoding": "chunked" };
    const streamed = { method: "POST", body: large, headers: chunked };
    assert.equal((await ask("noted.test", "/app", streamed)).status, 413);
    const small = { method: "POST", body: Buffer.alloc(1_024), headers: chunked };
    assert.equal((await ask("noted.test", "/app", small)).status, 200);
    assert.equal((await ask("noted.test", "/app/slow")).status, 504);
  });

  test("Events say what is wrong with an Ingress", async () => {
    const resource = { apiGroup: "k8s.example.com", kind: "StorageBucket", name: "assets" };
    await seedIngress(
      "wrong",
      "missing",
      {},
      {
        defaultBackend: { resource },
        tls: [{ hosts: ["wrong.test"], secretName: "none" }],
      },
    );
    await until(() => {
      const reasons = cluster
        .list(eventKind)
        .filter(({ involvedObject }) => involvedObject.name === "wrong")
        .map(({ reason, message }) => `${reason} ${message}`)
        .join("\n");
      return (
        /InvalidBackend .*resource backends/.test(reasons) &&
        /InvalidTLS Secret default\/none/.test(reasons) &&
        /Service default\/missing does not exist/.test(reasons)
      );
    });
  });

  test("a rolling change of endpoints under load loses no request", async () => {
    const pods = [await named("old-1"), await named("old-2")];
    const next = [await named("new-1"), await named("new-2")];
    await seedService("rolling", pods);
    await seedIngress("rolling", "rolling");
    await untilServed("rolling.test");
    const agent = new Agent({ keepAlive: true, maxSockets: 8 });
    let isOver = false;
    let answered = 0;
    const failures: string[] = [];
    const load = async (): Promise<void> => {
      while (!isOver) {
        const status = await new Promise<string>((resolve) => {
          const request = httpRequest(
            { agent, port: ports.httpPort, host: "127.0.0.1", headers: { host: "rolling.test" } },
            (response) => response.resume().on("end", () => resolve(String(response.statusCode))),
          );
          request.on("error", (error) => resolve(error.message));
          request.end();
        });
        answered += 1;
        if (status !== "200") failures.push(status);
      }
    };
    const clients = Array.from({ length: 8 }, load);
    for (const [i, port] of pods.entries()) {
      await cluster.seed(endpointSliceKind, sliceOf("rolling", next[i]!));
      await cluster.edit(endpointSliceKind, `rolling-${port}`, (slice) => {
        slice.endpoints = [
          {
            addresses: ["127.0.0.1"],
            conditions: { ready: false, serving: true, terminating: true },
          },
        ];
      });
      const before = answered;
      await until(() => answered > before + 50);
    }
    isOver = true;
    await Promise.all(clients);
    agent.destroy();
    assert.deepEqual(failures, []);
    const { headers } = await ask("rolling.test");
    assert.match(String(headers["x-endpoint"]), /^new/);
  });

  test("hostile requests: smuggling by two lengths and endless headers are refused", async () => {
    const raw = (text: string): Promise<string> =>
      new Promise((resolve) => {
        const socket = connectTcp(ports.httpPort, "127.0.0.1");
        let answer = "";
        socket.on("data", (chunk) => (answer += chunk));
        socket.on("error", () => undefined);
        socket.on("close", () => resolve(answer.split("\r\n", 1)[0]!));
        socket.write(text);
      });
    const start = "POST / HTTP/1.1\r\nHost: plain.test\r\n";
    const both = `${start}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`;
    assert.match(await raw(both), /^HTTP\/1.1 400/);
    assert.match(await raw(`${start}X: ${"x".repeat(20_000)}\r\n\r\n`), /^HTTP\/1.1 4(31|00)/);
    assert.match(
      await raw("GET x HTTP/1.1\r\nHost: plain.test\r\nConnection: close\r\n\r\n"),
      /^HTTP\/1.1 400/,
    );
  });
});

function sliceOf(service: string, port: number): EndpointSlice {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      name: `${service}-${port}`,
      namespace: "default",
      labels: { "kubernetes.io/service-name": service },
    },
    addressType: "IPv4",
    endpoints: [
      { addresses: ["127.0.0.1"], conditions: { ready: true, serving: true, terminating: false } },
    ],
    ports: [{ name: "web", port, protocol: "TCP" }],
  };
}
