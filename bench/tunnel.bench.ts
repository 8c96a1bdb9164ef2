/**
 * Konnectivity tunnels of the built program. Without a node: 64 connections at once through server and
 * agent, 1 GB in all, beside the same connections made directly, with the memory of both processes; and
 * what happens when an agent is killed. With a node (needs root): `kubectl exec` through each kind of
 * tunnel, beside the same with a route to the node.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { systemRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { freePort } from "#testing/free-ports.ts";
import { createEgressDialer, type EgressDialer } from "#tunnel/egress-dialer.ts";
import { buildProgram, LAUNCHER } from "../test/built-program.ts";
import { type SplitMachine, startSplitMachine } from "../test/e2e/tunnel/split-machine.ts";
import { TUNNEL_KINDS } from "../test/e2e/tunnel/tunnel-kinds.ts";
import { residentMb } from "./load/server-processes.ts";
import type { BenchOptions, Row } from "./row.ts";

export const name = "tunnel";

const STREAMS = 64;
const WARM_BYTES = 1024 * 1024;
const CHUNK = Buffer.alloc(64 * 1024, "x");
const EXECS = 9;
/** Buffers of 64 connections, and what a garbage collector has not collected yet. */
const GROWTH_MB_MAX = 64;
const BACK_WITHIN_MS = 1_000;
const LOOK_EVERY_MS = 20;

export async function* run({ quick, progress }: BenchOptions): AsyncIterable<Row> {
  buildProgram();
  for (const mode of ["http-connect", "grpc"] as const) yield* copies(mode, quick, progress);
  if (process.getuid?.() === 0) yield* execs(progress);
}

async function* copies(
  mode: "grpc" | "http-connect",
  quick: boolean,
  progress: BenchOptions["progress"],
): AsyncIterable<Row> {
  const bytes = (quick ? 128 : 1024) * 1024 * 1024;
  const folder = mkdtempSync(join(tmpdir(), "k8ts-bench-"));
  await using source = await startSource();
  const path = join(folder, "socket");
  const [agentPort, health, admin] = [await freePort(), await freePort(), await freePort()];
  const server = program(
    ...["konnectivity-server", "--mode", mode, "--uds-name", path, "--server-port", "0"],
    ...["--agent-port", String(agentPort), "--agent-bind-address", "127.0.0.1"],
    ...["--health-port", String(health), "--health-bind-address", "127.0.0.1"],
    ...["--admin-port", String(admin)],
  );
  const agents: ChildProcess[] = [];
  const startAgent = async (): Promise<ChildProcess> => {
    const agentHealth = await freePort();
    const agent = program(
      ...["konnectivity-agent", "--proxy-server-host", "127.0.0.1", "--sync-interval", "100ms"],
      ...["--proxy-server-port", String(agentPort), "--health-server-host", "127.0.0.1"],
      ...["--health-server-port", String(agentHealth)],
      ...["--admin-server-port", String(await freePort())],
    );
    agents.push(agent);
    await untilReady(agentHealth);
    return agent;
  };
  try {
    const agent = await startAgent();
    const dial = createEgressDialer(
      { protocol: mode === "grpc" ? "GRPC" : "HTTPConnect", path },
      systemClock,
      systemRandom,
    );
    await untilDialled(dial, source.port);
    progress(`${mode}: direct`);
    const direct = await copyAll(async () => connect(source.port, "127.0.0.1"), bytes);
    await copyAll(() => dial("127.0.0.1", source.port), STREAMS * WARM_BYTES);
    progress(`${mode}: through the tunnel`);
    const before = residentMb(server.pid!) + residentMb(agent.pid!);
    const through = await copyAll(() => dial("127.0.0.1", source.port), bytes);
    const after = residentMb(server.pid!) + residentMb(agent.pid!);
    const size = `${STREAMS} streams, ${bytes / 1024 ** 2} MB`;
    yield {
      ...{ name: `${mode}: ${size}`, value: through, unit: "MB/s" },
      ...{ limit: direct, limitName: "MB/s directly" },
    };
    yield {
      ...{ name: `${mode}: growth of server and agent by it`, value: after - before, unit: "MB" },
      ...{ limit: GROWTH_MB_MAX, limitName: "MB allowed", target: 1 },
    };
    progress(`${mode}: an agent is killed`);
    const held = await dial("127.0.0.1", source.port);
    const ended = new Promise<void>((resolve) => {
      held.once("error", () => resolve());
      held.once("close", () => resolve());
    });
    await startAgent();
    const startMs = systemClock.elapsedMs();
    agent.kill("SIGKILL");
    await ended;
    const endedMs = systemClock.elapsedMs() - startMs;
    await untilDialled(dial, source.port);
    const allowed = { limit: BACK_WITHIN_MS, limitName: "ms allowed", target: 1 };
    yield {
      name: `${mode}: agent killed to its stream ended`,
      value: endedMs,
      unit: "ms",
      ...allowed,
    };
    yield {
      ...{
        name: `${mode}: …to the next connection, through another agent`,
        unit: "ms",
        ...allowed,
      },
      value: systemClock.elapsedMs() - startMs,
    };
    progress(`${mode}: the only agent is killed and started again`);
    const killedMs = systemClock.elapsedMs();
    for (const each of agents) each.kill("SIGKILL");
    const again = startAgent();
    await untilDialled(dial, source.port);
    yield {
      ...{ name: `${mode}: …through the only agent, started again`, unit: "ms", ...allowed },
      value: systemClock.elapsedMs() - killedMs,
    };
    await again;
  } finally {
    for (const child of [server, ...agents]) child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  }
}

async function* execs(progress: BenchOptions["progress"]): AsyncIterable<Row> {
  progress("a node");
  await using split = await startSplitMachine();
  const route = ["ip", "route", "replace", "192.168.77.0/24", "via", "192.168.88.2"];
  await split.tryControl(route[0]!, ...route.slice(1));
  const direct = await execMs(split);
  await split.tryControl("ip", "route", "del", "192.168.77.0/24");
  for (const { name: kind, open } of TUNNEL_KINDS) {
    progress(kind);
    const tunnel = await open(split);
    try {
      yield {
        ...{ name: `kubectl exec, ${kind}`, value: await execMs(split), unit: "ms" },
        ...{ limit: direct, limitName: "ms directly", target: 2 },
      };
    } finally {
      await tunnel.end();
    }
  }
}

/** The median. */
async function execMs({ kubectl }: SplitMachine): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < EXECS; i++) {
    const startMs = systemClock.elapsedMs();
    await kubectl("exec", "web", "--", "true");
    times.push(systemClock.elapsedMs() - startMs);
  }
  return times.sort((a, b) => a - b)[Math.floor(EXECS / 2)]!;
}

/** MB a second, over all streams. */
async function copyAll(open: () => Promise<Duplex>, bytes: number): Promise<number> {
  const each = bytes / STREAMS;
  const startMs = systemClock.elapsedMs();
  await Promise.all(Array.from({ length: STREAMS }, async () => copy(await open(), each)));
  return bytes / 1024 ** 2 / ((systemClock.elapsedMs() - startMs) / 1000);
}

/** The first line says how much the source is to send. */
async function copy(stream: Duplex, bytes: number): Promise<void> {
  stream.write(`${bytes}\n`);
  let got = 0;
  for await (const chunk of stream) got += (chunk as Buffer).length;
  if (got !== bytes) throw new Error(`${got} bytes of ${bytes} have arrived`);
}

async function startSource(): Promise<AsyncDisposable & { readonly port: number }> {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", (line) => {
      let left = Number(line.toString());
      const send = (): void => {
        while (left > 0) {
          const size = Math.min(left, CHUNK.length);
          left -= size;
          if (!socket.write(CHUNK.subarray(0, size))) return;
        }
        socket.end();
      };
      socket.on("drain", send);
      send();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}

async function untilDialled(dial: EgressDialer, port: number): Promise<void> {
  for (;;) {
    try {
      (await dial("127.0.0.1", port)).destroy();
      return;
    } catch {
      await systemClock.sleep(5);
    }
  }
}

/** The agent has a stream to the server. */
async function untilReady(port: number): Promise<void> {
  const isReady = (): Promise<boolean> =>
    fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await isReady())) await systemClock.sleep(LOOK_EVERY_MS);
}

/** As users start it: the launcher becomes the program. */
function program(...args: string[]): ChildProcess {
  return spawn(LAUNCHER, args, { stdio: "ignore" });
}
