/** SSH tunnels over the real OpenSSH server. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { afterEach, describe, test } from "vitest";
import { silentLogger } from "#lib/logger.ts";
import { seededRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { missingProgram } from "../../../tools/debian-packages.ts";
import { openSshConnection, type SshConnection } from "./ssh-connection.ts";
import { ensureSshKey, publishSshKey } from "./ssh-key.ts";
import { startSshServer } from "./ssh-server.testing.ts";
import { SshTunnels, type SshTunnelsOptions, type TunnelTarget } from "./ssh-tunnels.ts";

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "ssh-tunnels-"));
  cleanUps.push(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

function targetOf(host: string, addresses: readonly string[] = [host]): TunnelTarget {
  return { host, addresses, kubelet: { host, port: 10_250 } };
}

describe("SSH tunnels through openssh-server", () => {
  async function world(more: Partial<SshTunnelsOptions> = {}) {
    assert.equal(missingProgram("/usr/sbin/sshd"), undefined);
    const directory = temporaryDirectory();
    const keyFile = join(directory, "tunnel");
    await ensureSshKey(keyFile);
    const line = publishSshKey(keyFile);
    const server = await startSshServer(directory, `${keyFile}.authorized_keys`);
    cleanUps.push(() => server[Symbol.asyncDispose]());
    const attempts: boolean[] = [];
    const tunnels = new SshTunnels({
      ...{ user: "root", port: server.port, open: openSshConnection, check: async () => undefined },
      ...{ clock: systemClock, random: seededRandom(1), logger: silentLogger },
      privateKey: () => readFileSync(keyFile, "utf8"),
      attempted: (ok) => void attempts.push(ok),
      ...more,
    });
    cleanUps.push(() => tunnels[Symbol.asyncDispose]());
    return { directory, keyFile, line, server, tunnels, attempts };
  }

  async function untilOpen(tunnels: SshTunnels, count = 1): Promise<void> {
    while (tunnels.open !== count) await new Promise((resolve) => setTimeout(resolve, 10));
  }

  async function listen(answer: Buffer): Promise<number> {
    const echo = createServer((socket) => socket.end(answer));
    await new Promise<void>((resolve) => echo.listen(0, "127.0.0.1", resolve));
    cleanUps.push(() => echo.close());
    return (echo.address() as AddressInfo).port;
  }

  test("16 connections of 1 MiB at once arrive whole; a port that refuses is an error", async () => {
    const { tunnels, attempts } = await world();
    tunnels.update([targetOf("127.0.0.1")]);
    await untilOpen(tunnels);
    const port = await listen(Buffer.alloc(1 << 20, "x"));
    const answers = await Promise.all(
      Array.from({ length: 16 }, async () => await buffer(await tunnels.dial("127.0.0.1", port))),
    );
    assert.deepEqual([...new Set(answers.map(({ length }) => length))], [1 << 20]);
    await assert.rejects(tunnels.dial("127.0.0.1", 1), /dial tcp 127\.0\.0\.1:1: .*refused/);
    assert.deepEqual(attempts, [true]);
  });

  test("an SSH server that drops its connections is dialled again; open streams end with an error", async () => {
    const { tunnels, server } = await world();
    tunnels.update([targetOf("127.0.0.1")]);
    await untilOpen(tunnels);
    const held = createServer(() => undefined);
    await new Promise<void>((resolve) => held.listen(0, "127.0.0.1", resolve));
    cleanUps.push(() => held.close());
    const stream = await tunnels.dial("127.0.0.1", (held.address() as AddressInfo).port);
    const ended = new Promise<Error>((resolve) => stream.once("error", resolve));
    server.dropAll();
    assert.match((await ended).message, /the SSH tunnel to 127\.0\.0\.1 has ended/);
    while (server.connections < 2) await new Promise((resolve) => setTimeout(resolve, 10));
    await untilOpen(tunnels);
    const port = await listen(Buffer.from("again"));
    assert.equal(String(await buffer(await tunnels.dial("127.0.0.1", port))), "again");
  });

  test("a key that the node does not accept opens no tunnel: ssh_tunnel_open_fail_count", async () => {
    const { keyFile, tunnels, attempts } = await world();
    writeFileSync(`${keyFile}.authorized_keys`, "");
    tunnels.update([targetOf("127.0.0.1")]);
    while (attempts.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    assert.equal(attempts[0], false);
    await assert.rejects(
      tunnels.dial("127.0.0.1", 80),
      /^Error: No SSH tunnels currently open\. Were the targets able to accept an ssh-key for user "root"\?$/,
    );
  });

  test("the published line is what ssh-keygen says of the generated key; the files are private", async () => {
    const { keyFile, line } = await world();
    const shown = spawnSync("ssh-keygen", ["-y", "-f", keyFile], { encoding: "utf8" });
    assert.equal(shown.stdout.trim(), line);
    assert.match(readFileSync(keyFile, "utf8"), /^-----BEGIN RSA PRIVATE KEY-----/);
    assert.match(readFileSync(`${keyFile}.pub`, "utf8"), /^-----BEGIN PUBLIC KEY-----/);
    for (const file of [keyFile, `${keyFile}.pub`])
      assert.equal(statSync(file).mode & 0o777, 0o600);
    const before = readFileSync(keyFile, "utf8");
    await ensureSshKey(keyFile);
    assert.equal(readFileSync(keyFile, "utf8"), before, "a key that is there stays");
    rmSync(`${keyFile}.pub`);
    await ensureSshKey(keyFile);
    assert.notEqual(readFileSync(keyFile, "utf8"), before, "half a pair is made anew");
    assert.ok(!existsSync(`${keyFile}.pub.tmp`));
  });
});

describe("SSH tunnels to several nodes", () => {
  function world(healthy: (host: string) => boolean = () => true) {
    const clock = new VirtualClock();
    const opened: string[] = [];
    const dialled: string[] = [];
    const ends = new Map<string, () => void>();
    const open = async ({ host }: { readonly host: string }): Promise<SshConnection> => {
      opened.push(host);
      let end = (): void => undefined;
      const ended = new Promise<undefined>((resolve) => {
        end = () => resolve(undefined);
      });
      ends.set(host, end);
      return {
        ended,
        close: end,
        dial: async (to, port) => {
          dialled.push(`${host}>${to}:${port}`);
          return undefined as never;
        },
      };
    };
    const tunnels = new SshTunnels({
      ...{ user: "core", privateKey: () => "", open, clock, random: seededRandom(1) },
      logger: silentLogger,
      check: async ({ host }) => {
        if (!healthy(host)) throw new Error("EOF");
      },
    });
    return { clock, tunnels, opened, dialled, ends };
  }

  test("a connection to a node goes through its own tunnel, others through any", async () => {
    const { clock, tunnels, dialled } = world();
    tunnels.update([targetOf("192.0.2.1", ["192.0.2.1", "node-1"]), targetOf("192.0.2.2")]);
    await clock.advance(0);
    await tunnels.dial("node-1", 10_250);
    await tunnels.dial("192.0.2.2", 10_250);
    assert.deepEqual(dialled.splice(0), ["192.0.2.1>node-1:10250", "192.0.2.2>192.0.2.2:10250"]);
    for (let i = 0; i < 20; i++) await tunnels.dial("10.244.0.5", 80);
    assert.equal(new Set(dialled).size, 2, "both were chosen");
    await tunnels[Symbol.asyncDispose]();
  });

  test("a node that is gone loses its tunnel, a new one gets one, others keep theirs", async () => {
    const { clock, tunnels, opened } = world();
    tunnels.update([targetOf("a"), targetOf("b")]);
    await clock.advance(0);
    tunnels.update([targetOf("b"), targetOf("c")]);
    await clock.advance(0);
    assert.deepEqual(opened, ["a", "b", "c"]);
    assert.equal(tunnels.open, 2);
    await tunnels[Symbol.asyncDispose]();
  });

  test("a health check every minute; a tunnel that fails it is opened again", async () => {
    let isHealthy = true;
    const { clock, tunnels, opened } = world(() => isHealthy);
    tunnels.update([targetOf("a")]);
    await clock.advance(180_000);
    assert.deepEqual(opened, ["a"]);
    isHealthy = false;
    await clock.advance(60_000);
    assert.deepEqual(opened, ["a", "a"]);
    await tunnels[Symbol.asyncDispose]();
  });

  test("a tunnel that ends as soon as it is open is not dialled without a pause", async () => {
    const { clock, tunnels, opened, ends } = world();
    tunnels.update([targetOf("a")]);
    await clock.advance(0);
    for (let i = 0; i < 100; i++) {
      ends.get("a")?.();
      await clock.advance(100);
    }
    assert.ok(opened.length < 10, `${opened.length} times within 10 s`);
    await tunnels[Symbol.asyncDispose]();
  });
});
