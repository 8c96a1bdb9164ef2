/**
 * The service proxy beside upstream's kube-proxy (if K8TS_KUBE_PROXY names its program), one after the
 * other on the same node of a test machine with the same Services of 10 endpoints: the time from
 * the start of the program until a cluster IP answers, the time of the full sync that each measures
 * itself, the time from a changed EndpointSlice until packets follow it, connections through a cluster
 * IP beside connections to the pod itself, and memory.
 */
import { existsSync } from "node:fs";
import { buildProgram, LAUNCHER } from "../test/built-program.ts";
import { type ConnectionRate, type ProxyBench, startProxyBench } from "./proxy/proxy-machine.ts";
import type { BenchOptions, Row } from "./row.ts";

export const name = "proxy";

/**
 * The time of iptables 1.8 grows with the square of the chains in one transaction, and upstream writes
 * everything in one: with 5,000 Services it has not ended after six minutes.
 */
const SERVICES = { nftables: 5_000, iptables: 1_000 };
const ENDPOINTS = 10;
const MODES = ["nftables", "iptables"] as const;
/** One of them only, if this is set. */
const CHOSEN_MODE = process.env.K8TS_PROXY_MODE ?? "";
const UPSTREAM = process.env.K8TS_KUBE_PROXY ?? "";

/** It may not change the machine's limits from inside a network namespace. */
const UPSTREAM_FLAGS = ["--conntrack-max-per-core=0", "--conntrack-min=0"];

interface Figures {
  readonly startMs: number;
  readonly syncMs: number;
  readonly changeMs: number;
  readonly connections: ConnectionRate;
  readonly memoryMb: number;
  /** Processor time until it has written all rules, with that of `nft` or `iptables-restore`. */
  readonly startCpuMs: number;
}

export async function* run({ quick, progress }: BenchOptions): AsyncIterable<Row> {
  buildProgram();
  const modes = MODES.filter((mode) => CHOSEN_MODE === "" || mode === CHOSEN_MODE);
  for (const mode of modes) {
    const services = quick ? SERVICES[mode] / 10 : SERVICES[mode];
    await using bench = await startProxyBench();
    progress(`${mode}: ${services} Services`);
    await bench.fill(services, ENDPOINTS);
    progress(`${mode}: k8ts`);
    const own = await measure(bench, [LAUNCHER, "proxy", "--no-network-policy"], mode);
    progress(`${mode}: upstream`);
    const other = existsSync(UPSTREAM)
      ? await measure(bench, [UPSTREAM, ...UPSTREAM_FLAGS], mode)
      : undefined;
    yield* rowsOf(`${mode}, ${services} Services`, own, other);
  }
}

function* rowsOf(of: string, own: Figures, other: Figures | undefined): Iterable<Row> {
  const beside = (limit: number | undefined, target: number): Partial<Row> =>
    limit === undefined ? {} : { limit, limitName: "kube-proxy", target };
  yield {
    name: `${of}: start to the first answer`,
    value: own.startMs,
    unit: "ms",
    ...beside(other?.startMs, 1),
  };
  yield {
    name: `${of}: processor time until then`,
    value: own.startCpuMs,
    unit: "ms",
    ...beside(other?.startCpuMs, 1),
  };
  yield { name: `${of}: full sync`, value: own.syncMs, unit: "ms", ...beside(other?.syncMs, 0.5) };
  yield {
    name: `${of}: endpoint change until it acts`,
    value: own.changeMs,
    unit: "ms",
    ...(other === undefined
      ? { limit: 50, limitName: "50 ms", target: 1 }
      : beside(other.changeMs, 1)),
  };
  const { perSecond, besideDirect } = own.connections;
  yield {
    name: `${of}: connections through the VIP`,
    value: perSecond,
    unit: "/s",
    ...beside(other?.connections.perSecond, 0.95),
    // The two do not run at the same time: each is compared with connections to the pod in its own turns.
    ...(other && { ratio: besideDirect / other.connections.besideDirect }),
  };
  yield {
    name: `${of}: memory`,
    value: own.memoryMb,
    unit: "MB",
    limit: 70,
    limitName: "70 MB",
    target: 1,
  };
  if (other !== undefined) {
    yield { name: `${of}: memory of kube-proxy`, value: other.memoryMb, unit: "MB" };
  }
}

async function measure(
  bench: ProxyBench,
  command: readonly string[],
  mode: string,
): Promise<Figures> {
  await using proxy = await bench.startProxy(command, mode);
  return {
    startMs: proxy.startMs,
    syncMs: await proxy.syncMs(),
    startCpuMs: await proxy.cpuMs(),
    changeMs: await bench.changeMs(),
    memoryMb: await proxy.memoryMb(),
    connections: await bench.connections(), // after the rest: no rules are being written
  };
}
