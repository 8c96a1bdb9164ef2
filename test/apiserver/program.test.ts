/** The program `k8ts apiserver` as a process: what it holds for clients that do not read, and how it ends. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { connect as connectTcp } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, test } from "vitest";
import { parseKubeconfig } from "#pki/kubeconfig.ts";
import { buildProgram, PROGRAM } from "../built-program.ts";
import { CONFIG_MAPS, configMap, identityOf, MEGABYTE, post, Raw } from "./raw-connection.ts";

describe("the program", () => {
  const directory = mkdtempSync(join(tmpdir(), "k8ts-test-raw-"));
  const kubeconfig = join(directory, "admin.kubeconfig");
  let port = 0;
  let child: ChildProcess | undefined;

  beforeAll(() => buildProgram(), 60_000);

  // The next test can open the store only after this process has released it.
  afterEach(async () => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child!.once("exit", resolve));
    child.kill("SIGKILL");
    await ended;
  });

  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  async function start(): Promise<ChildProcess> {
    const flags = ["--data-dir", directory, "--secure-port", "0", "--bind-address", "127.0.0.1"];
    child = spawn(process.execPath, [PROGRAM, "apiserver", ...flags], {
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
    port = Number(new URL(parseKubeconfig(readFileSync(kubeconfig, "utf8"))!.server).port);
    return child;
  }

  test("holds little for clients that stop reading their watches", async () => {
    const { pid } = await start();
    const session = openHttp2();
    using writer = await Raw.open(port, kubeconfig);
    writer.send(post(configMap("large"), [`Content-Length: ${configMap("large").length}`]));
    await writer.until(/^HTTP\/1\.1 201 /);
    // Until the window of changes is as full as it gets, and the collector has got used to the load.
    await writeUntil(session, 90 * MEGABYTE);
    const beforeMb = anonymousMb(pid!);
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
    const streams = Array.from({ length: 8 }, () => {
      const stream = session.request({ ":path": `${CONFIG_MAPS}?watch=1` });
      stream.on("error", () => undefined);
      return stream.pause();
    });
    await writeUntil(session, 60 * MEGABYTE);
    const grownMb = anonymousMb(pid!) - beforeMb;
    // What was sent to one of them is 60 MB, to all sixteen it is a gigabyte.
    assert.ok(grownMb < 100, `it has grown by ${grownMb} MB`);
    for (const raw of stalled) raw[Symbol.dispose]();
    for (const stream of streams) stream.close();
    session.destroy();
  }, 240_000); // three hundred large writes, one after the other

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

  test("answers what it was asked before SIGTERM, says goodbye, and keeps what it acknowledged", async () => {
    const running = await start();
    const session = openHttp2();
    await new Promise((resolve) => session.once("connect", resolve));
    const goodbye = new Promise<number>((resolve) => session.once("goaway", resolve));
    const ended = new Promise<number | null>((resolve) => running.once("exit", resolve));
    const codes = Array.from({ length: 40 }, (_, i) => {
      const body = configMap(`last-${i}`);
      const stream = session.request({
        ":method": "POST",
        ":path": CONFIG_MAPS,
        "content-type": "application/json",
      });
      stream.on("error", () => undefined).resume();
      stream.end(body);
      return new Promise<unknown>((resolve) => {
        stream.on("response", (headers) => resolve(headers[":status"]));
        stream.on("close", () => resolve("refused"));
      });
    });
    await codes[0];
    running.kill("SIGTERM");
    const answers = await Promise.all(codes);
    assert.equal(await goodbye, 0); // no error
    assert.equal(await ended, 0);
    assert.ok(
      answers.every((code) => code === 201 || code === "refused"),
      `${answers}`,
    );
    const kept = answers.filter((code) => code === 201).length;
    assert.ok(kept > 0);
    await start();
    using raw = await Raw.open(port, kubeconfig);
    raw.send(`GET ${CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    await raw.ended;
    const text = await raw.until(/ConfigMapList/);
    for (const [i, code] of answers.entries()) {
      if (code === 201) assert.ok(text.includes(`"last-${i}"`), `last-${i}`);
    }
  });

  // It gives them a second and a half, and then the machine may be slow; they would stay for ever.
  test.each(clients)("ends soon after SIGTERM with open connections: $name", async ({ open }) => {
    const running = await start();
    const close = await open();
    const ended = new Promise<number | null>((resolve) => running.once("exit", resolve));
    running.kill("SIGTERM");
    assert.equal(await ended, 0);
    close();
  });
});

/** Memory of a process that no file stands behind. */
function anonymousMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/RssAnon:\s+(\d+)/.exec(status)?.[1]) / 1024;
}
