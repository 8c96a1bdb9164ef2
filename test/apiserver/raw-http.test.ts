/** The corners of HTTP that proper clients never show, spoken by hand over TLS. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import {
  type ClientHttp2Session,
  connect as connectHttp2,
  type IncomingHttpHeaders,
} from "node:http2";
import { connect as connectTcp, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, test } from "vitest";
import { parseKubeconfig } from "#pki/kubeconfig.ts";
import { startTestServer, type TestServer } from "./test-server.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const MEGABYTE = 1024 * 1024;

function identityOf(kubeconfig: string): { ca: string; cert: string; key: string } {
  const { authorityPem, client } = parseKubeconfig(readFileSync(kubeconfig, "utf8"))!;
  return { ca: authorityPem, cert: client.certificatePem, key: client.keyPem };
}

/** A connection that speaks what it is told. */
class Raw implements Disposable {
  readonly socket: TLSSocket;
  /** The server says no more. */
  readonly ended: Promise<void>;
  #over = false;
  #text = "";
  #wake: () => void = () => undefined;

  private constructor(socket: TLSSocket) {
    this.socket = socket;
    socket.setEncoding("latin1");
    socket.on("data", (text: string) => {
      this.#text += text;
      this.#wake();
    });
    socket.on("error", () => undefined);
    this.ended = new Promise((resolve) => {
      const end = (): void => {
        this.#over = true;
        resolve();
        this.#wake();
      };
      socket.on("end", end);
      socket.on("close", end);
    });
  }

  static async open(port: number, kubeconfig: string): Promise<Raw> {
    const options = { ...identityOf(kubeconfig), allowHalfOpen: true };
    const socket = connect({ ...options, host: "127.0.0.1", port, ALPNProtocols: ["http/1.1"] });
    await new Promise<void>((resolve, reject) => {
      socket.once("secureConnect", resolve);
      socket.once("error", reject);
    });
    return new Raw(socket);
  }

  send(text: string): void {
    this.socket.write(text, "latin1");
  }

  /** All that came, as soon as it matches, or the server says no more. */
  async until(wanted: RegExp): Promise<string> {
    while (!wanted.test(this.#text) && !this.#over) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    assert.match(this.#text, wanted);
    return this.#text;
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }
}

function post(body: string, headers: readonly string[] = []): string {
  const all = ["Host: x", "Content-Type: application/json", ...headers];
  return `POST ${CONFIG_MAPS} HTTP/1.1\r\n${all.join("\r\n")}\r\n\r\n${body}`;
}

function configMap(name: string): string {
  return JSON.stringify({ metadata: { name } });
}

describe("a connection", () => {
  let server: TestServer;
  const open = (): Promise<Raw> => Raw.open(server.port, server.kubeconfig);

  beforeAll(async () => {
    server = await startTestServer();
  });

  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  test("answers pipelined requests in their order", async () => {
    using raw = await open();
    const paths = ["/version", "/healthz", "/api", "/nothing-here", "/livez"];
    raw.send(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).join(""));
    const text = await raw.until(/404 page not found[\s\S]*\r\n\r\nok$/);
    const codes = [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => code);
    assert.deepEqual(codes, ["200", "200", "200", "404", "200"]);
    assert.match(text, /gitVersion[\s\S]*\r\n\r\nok[\s\S]*APIVersions/);
  });

  test("of HTTP/1.0 ends after the answer", async () => {
    using raw = await open();
    raw.send("GET /healthz HTTP/1.0\r\n\r\n");
    await raw.ended;
    assert.match(await raw.until(/ok$/), /^HTTP\/1\.1 200 OK\r\n[\s\S]*connection: close/i);
  });

  test("without a Host is refused, as is text that is no request", async () => {
    for (const text of [
      "GET /healthz HTTP/1.1\r\n\r\n",
      "nonsense\r\n\r\n",
      "\u0016\u0003\u0001\r\n\r\n",
    ]) {
      using raw = await open();
      raw.send(text);
      await raw.until(/^HTTP\/1\.1 400 Bad Request\r\n/);
      await raw.ended;
    }
  });

  test("takes a body in chunks", async () => {
    using raw = await open();
    const body = configMap("chunked");
    const chunks = [body.slice(0, 5), body.slice(5)].map(
      (chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`,
    );
    raw.send(post(`${chunks.join("")}0\r\n\r\n`, ["Transfer-Encoding: chunked"]));
    await raw.until(/^HTTP\/1\.1 201 Created[\s\S]*"name":"chunked"/);
  });

  test("is told to go on when it asks", async () => {
    using raw = await open();
    const body = configMap("expected");
    raw.send(post("", [`Content-Length: ${body.length}`, "Expect: 100-continue"]));
    await raw.until(/^HTTP\/1\.1 100 Continue\r\n\r\n/);
    raw.send(body);
    await raw.until(/HTTP\/1\.1 201 Created/);
  });

  test("hears that its body is too long: announced, in chunks, and far too long", async () => {
    for (const [bytes, chunked] of [
      [4 * MEGABYTE, false],
      [4 * MEGABYTE, true],
      [20 * MEGABYTE, false],
      [20 * MEGABYTE, true],
    ] as const) {
      using raw = await open();
      const body = "x".repeat(bytes);
      raw.send(
        chunked
          ? post(`${bytes.toString(16)}\r\n${body}\r\n0\r\n\r\n`, ["Transfer-Encoding: chunked"])
          : post(body, [`Content-Length: ${bytes}`]),
      );
      const text = await raw.until(/^HTTP\/1\.1 413 [\s\S]*"code":413/);
      assert.match(text, /"reason":"RequestEntityTooLarge"/);
    }
  });

  test("with a wrong Content-Length is refused or kept waiting, and nothing is written", async () => {
    for (const length of ["-1", "abc", "1, 2", "99999999999999999999"]) {
      using raw = await open();
      raw.send(post(configMap("wrong"), [`Content-Length: ${length}`]));
      await raw.until(/^HTTP\/1\.1 4(00|13) /);
    }
    using raw = await open();
    raw.send(post(configMap("wrong"), ["Content-Length: 1", "Transfer-Encoding: chunked"]));
    await raw.until(/^HTTP\/1\.1 400 /);
    using short = await open();
    short.send(
      post(configMap("wrong").slice(0, -1), [`Content-Length: ${configMap("wrong").length}`]),
    );
    short.socket.destroy();
    using check = await open();
    check.send(`GET ${CONFIG_MAPS}/wrong HTTP/1.1\r\nHost: x\r\n\r\n`);
    await check.until(/^HTTP\/1\.1 404 /);
  });

  test("has a limit for its headers", async () => {
    using big = await open();
    big.send(`GET /healthz HTTP/1.1\r\nHost: x\r\nX-Big: ${"x".repeat(100_000)}\r\n\r\n`);
    await big.until(/^HTTP\/1\.1 200 /);
    using bigger = await open();
    bigger.send(`GET /healthz HTTP/1.1\r\nHost: x\r\nX-Big: ${"x".repeat(2 * MEGABYTE)}\r\n\r\n`);
    await bigger.until(/^HTTP\/1\.1 431 Request Header Fields Too Large\r\n/);
    await bigger.ended;
  });

  test("whose path is no text is refused", async () => {
    using raw = await open();
    raw.send("GET /api/%ff%zz HTTP/1.1\r\nHost: x\r\n\r\n");
    await raw.until(/^HTTP\/1\.1 400 /);
  });

  test("that says no more still hears the answer", async () => {
    using raw = await open();
    raw.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    raw.socket.end();
    await raw.until(/^HTTP\/1\.1 200 OK[\s\S]*ok$/);
    await raw.ended;
  });

  test("may ask for HEAD and hears the length of a body, but gets none", async () => {
    using raw = await open();
    raw.send("HEAD /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /livez HTTP/1.1\r\nHost: x\r\n\r\n");
    const text = await raw.until(/\r\n\r\nok$/);
    assert.match(text, /^HTTP\/1\.1 200 OK[\s\S]*?\r\n\r\nHTTP\/1\.1 200 OK/);
    assert.match(text, /content-length: 2\r\n[\s\S]*content-length: 2\r\n/i);
    const session = connectHttp2(`https://127.0.0.1:${server.port}`, identityOf(server.kubeconfig));
    const stream = session.request({ ":method": "HEAD", ":path": "/apis/apps" });
    const headers = await new Promise<IncomingHttpHeaders>((resolve) => {
      stream.on("response", resolve);
    });
    assert.ok(Number(headers["content-length"]) > 100);
    assert.equal(await readAll(stream), "");
    session.destroy();
  });

  test("hears the name of its request in the audit log, its own if it has one", async () => {
    using raw = await open();
    raw.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    await raw.until(/audit-id: [0-9a-f]{8}-[0-9a-f-]{27}\r\n/i);
    raw.send(`GET ${CONFIG_MAPS}/none HTTP/1.1\r\nHost: x\r\nAudit-ID: mine\r\n\r\n`);
    await raw.until(/404 Not Found\r\n[\s\S]*audit-id: mine\r\n/i);
    raw.send(post("{", ["Content-Length: 1", "audit-id: bad-body"]));
    await raw.until(/400 Bad Request\r\n[\s\S]*audit-id: bad-body\r\n/i);
  });

  test("that is not TLS is ended", async () => {
    const socket = connectTcp(server.port, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.resume();
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    await new Promise((resolve) => socket.on("close", resolve));
  });
});

describe("the program", () => {
  const directory = mkdtempSync(join(tmpdir(), "k8ts-test-raw-"));
  const kubeconfig = join(directory, "admin.kubeconfig");
  let port = 0;
  let child: ChildProcess | undefined;

  beforeAll(async () => {
    const built = spawnSync(join(ROOT, "k8ts"), ["--version"], { encoding: "utf8" });
    assert.equal(built.status, 0, built.stderr);
    port = await freePort();
  }, 60_000);

  afterAll(() => {
    child?.kill("SIGKILL");
    rmSync(directory, { recursive: true, force: true });
  });

  async function start(): Promise<ChildProcess> {
    const flags = [
      "--data-dir",
      directory,
      "--secure-port",
      `${port}`,
      "--bind-address",
      "127.0.0.1",
    ];
    child = spawn(process.execPath, [join(ROOT, "dist/k8ts.js"), "apiserver", ...flags], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    let said = "";
    await new Promise<void>((resolve, reject) => {
      child!.stderr!.on("data", (chunk) => {
        said += chunk;
        if (said.includes("is ready")) resolve();
      });
      child!.once("exit", (code) => reject(new Error(`ended with ${code}: ${said}`)));
    });
    return child;
  }

  test("holds little for clients that stop reading their watches", async () => {
    const { pid } = await start();
    const watching = `GET ${CONFIG_MAPS}?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n`;
    const stalled = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const raw = await Raw.open(port, kubeconfig);
        raw.send(watching);
        await raw.until(/^HTTP\/1\.1 200 /);
        raw.socket.pause();
        return raw;
      }),
    );
    const session = openHttp2();
    const streams = Array.from({ length: 8 }, () => {
      const stream = session.request({ ":path": `${CONFIG_MAPS}?watch=1` });
      stream.on("error", () => undefined);
      return stream.pause();
    });
    using writer = await Raw.open(port, kubeconfig);
    writer.send(post(configMap("large"), [`Content-Length: ${configMap("large").length}`]));
    await writer.until(/^HTTP\/1\.1 201 /);
    const beforeMb = anonymousMb(pid!);
    await writeUntil(session, 60 * MEGABYTE);
    const grownMb = anonymousMb(pid!) - beforeMb;
    // What is sent once is more than 60 MB, to sixteen watchers it is a gigabyte.
    assert.ok(grownMb < 300, `it has grown by ${grownMb} MB`);
    for (const raw of stalled) raw[Symbol.dispose]();
    for (const stream of streams) stream.close();
    session.destroy();
    child!.kill("SIGKILL");
  }, 60_000);

  /** Replaces one large object until so many bytes were written. */
  async function writeUntil(session: ClientHttp2Session, bytesMax: number): Promise<void> {
    for (let bytes = 0, n = 0; bytes < bytesMax; n++) {
      const body = JSON.stringify({ data: { large: String(n % 10).repeat(500_000) } });
      bytes += body.length;
      const stream = session.request({
        ":method": "PATCH",
        ":path": `${CONFIG_MAPS}/large`,
        "content-type": "application/merge-patch+json",
      });
      stream.end(body);
      const code = await new Promise<unknown>((resolve, reject) => {
        stream.on("response", (headers) => resolve(headers[":status"]));
        stream.on("error", reject);
      });
      stream.resume();
      assert.equal(code, 200);
    }
  }

  function openHttp2(): ClientHttp2Session {
    const session = connectHttp2(`https://127.0.0.1:${port}`, identityOf(kubeconfig));
    session.on("error", () => undefined);
    return session;
  }

  const clients: { name: string; open(): Promise<() => void> }[] = [
    {
      name: "watches over HTTP/1.1",
      open: async () => {
        const raw = await Raw.open(port, kubeconfig);
        raw.send(`GET ${CONFIG_MAPS}?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n`);
        await raw.until(/^HTTP\/1\.1 200 /);
        return () => raw[Symbol.dispose]();
      },
    },
    {
      name: "watches over HTTP/2",
      open: async () => {
        const session = openHttp2();
        for (let i = 0; i < 20; i++) {
          const stream = session.request({ ":path": `${CONFIG_MAPS}?watch=1` });
          stream.on("error", () => undefined).resume();
          await new Promise((resolve) => stream.once("response", resolve));
        }
        return () => session.destroy();
      },
    },
    {
      name: "an idle connection, one that never began TLS, one with half a request",
      open: async () => {
        const idle = await Raw.open(port, kubeconfig);
        const plain = connectTcp(port, "127.0.0.1");
        plain.on("error", () => undefined);
        await new Promise<void>((resolve) => plain.once("connect", resolve));
        const half = await Raw.open(port, kubeconfig);
        half.send("GET /healthz HTTP/1.1\r\nHo");
        return () => {
          idle[Symbol.dispose]();
          half[Symbol.dispose]();
          plain.destroy();
        };
      },
    },
  ];

  test.each(clients)("ends within two seconds of SIGTERM: $name", async ({ open }) => {
    const running = await start();
    const close = await open();
    const startMs = performance.now();
    const ended = new Promise<number | null>((resolve) => running.once("exit", resolve));
    running.kill("SIGTERM");
    assert.equal(await ended, 0);
    const tookMs = performance.now() - startMs;
    assert.ok(tookMs < 2_000, `it took ${tookMs} ms`);
    close();
  });
});

async function readAll(stream: AsyncIterable<Buffer>): Promise<string> {
  let text = "";
  for await (const chunk of stream) text += chunk;
  return text;
}

/** Memory of a process that no file stands behind. */
function anonymousMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/RssAnon:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise<void>((resolve) => server.close(() => resolve()));
  return typeof address === "object" && address !== null ? address.port : 0;
}
