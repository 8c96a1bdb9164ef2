/**
 * The DNS server beside a bare UDP server that sends packets back, both asked by the same client in
 * turns: cached answers a second over loopback, the time of an answer without any socket, and the memory
 * that 10,000 Services take; then the program as users start it, with an API server beside it.
 */

import { fork } from "node:child_process";
import { createSocket, type Socket } from "node:dgram";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { endpointSliceKind } from "#api/kinds/discovery/v1/endpoint-slice.ts";
import { defaultConfig } from "#dns/config/dns-config.ts";
import { createRequestMetrics } from "#dns/server/request-metrics.ts";
import { Responder } from "#dns/server/responder.ts";
import { Routes } from "#dns/server/routes.ts";
import { startUdpServer } from "#dns/server/udp-server.ts";
import { encodeQuestion } from "#dns/wire/encode-question.ts";
import { PodAddresses } from "#dns/zone/pod-addresses.ts";
import { Zone } from "#dns/zone/zone.ts";
import { silentLogger } from "#lib/logger.ts";
import { Metrics } from "#lib/metrics.ts";
import { seededRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { build } from "#testing/build.ts";
import { buildProgram } from "../test/built-program.ts";
import { type DnsProgramFigures, measureDnsProgram } from "./dns/dns-program.ts";
import type { BenchOptions, Row } from "./row.ts";

export const name = "dns";

const SERVICES = 10_000;
/** Fewer than the server keeps answers of; there are more Services. */
const REPEATED_QUERIES = 1_000;
/** Queries on their way at a time: as many as keep the server busy. */
const WINDOW = 64;

export async function* run({ quick, signal, progress }: BenchOptions): AsyncIterable<Row> {
  buildProgram();
  const life = new AbortController();
  signal.addEventListener("abort", () => life.abort(), { once: true });
  const emptyHeap = heapAfterCollection();
  const zone = filledZone();
  const heap = heapAfterCollection() - emptyHeap;
  yield {
    name: "heap of the zone for 10,000 Services",
    value: heap / 2 ** 20,
    unit: "MB",
    limit: 8,
    limitName: "8 MB",
    target: 1,
  };
  const responder = responderOf(zone);
  const repeated = answersPerSecond(responder, REPEATED_QUERIES, quick);
  yield { name: "cached answers without a socket", value: repeated, unit: "/s" };
  const first = answersPerSecond(responder, SERVICES, quick);
  yield { name: "first answers without a socket", value: first, unit: "/s" };
  try {
    const port = await startUdpServer({ address: "127.0.0.1", port: 0 }, responder, life.signal);
    const echo = await startEcho(life.signal);
    const windowMs = quick ? 300 : 1_000;
    const rates: { own: number; bare: number }[] = [];
    for (let round = 0; round < (quick ? 5 : 9); round++) {
      progress(`round ${round + 1}`);
      const own = await askFromChild(port, windowMs);
      rates.push({ own, bare: await askFromChild(echo, windowMs) });
    }
    const own = median(rates.map((rate) => rate.own));
    const bare = median(rates.map((rate) => rate.bare));
    const ratio = median(rates.map((rate) => rate.own / rate.bare));
    yield {
      name: "cached answers over UDP",
      value: own,
      unit: "/s",
      limit: bare,
      limitName: "bare UDP echo",
      ratio,
    };
    yield {
      name: "cached answers over UDP, the bar",
      value: own,
      unit: "/s",
      limit: 20_000,
      limitName: "20,000/s",
      target: 1,
    };
  } finally {
    life.abort();
  }
  progress("the program");
  const services = quick ? SERVICES / 10 : SERVICES;
  yield* programRows(await measureDnsProgram(services), services);
}

function* programRows(figures: DnsProgramFigures, services: number): Iterable<Row> {
  yield { name: "k8ts dns: cached answers over UDP", value: figures.answersPerSecond, unit: "/s" };
  yield {
    name: "k8ts dns: cached answers a processor second",
    value: figures.answersPerCpuSecond,
    ...{ unit: "/s", limit: 20_000, limitName: "20,000/s", target: 1 },
  };
  yield {
    name: "k8ts dns: first answers a processor second",
    value: figures.firstAnswersPerCpuSecond,
    unit: "/s",
  };
  yield {
    name: "k8ts dns: changed EndpointSlice until it is answered",
    value: figures.changeMs,
    ...{ unit: "ms", limit: 200, limitName: "200 ms", target: 1 },
  };
  yield {
    name: `k8ts dns: resident memory with ${services.toLocaleString("en")} Services after a load of queries`,
    value: figures.memoryMb,
    ...{ unit: "MB", limit: 60, limitName: "60 MB", target: 1 },
  };
}

function answersPerSecond(responder: Responder, different: number, quick: boolean): number {
  const signal = new AbortController().signal;
  const origin = { carrier: "udp", family: "1", client: "" } as const;
  const queries = Array.from({ length: different }, (_, i) => queryFor(i * 7));
  const count = quick ? 200_000 : 1_000_000;
  for (let i = 0; i < 50_000; i++) void responder.respond(queries[i % different]!, origin, signal);
  const startMs = systemClock.elapsedMs();
  for (let i = 0; i < count; i++) void responder.respond(queries[i % different]!, origin, signal);
  return count / ((systemClock.elapsedMs() - startMs) / 1000);
}

/** The client has a process, and so a core, of its own. */
function askFromChild(port: number, durationMs: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(new URL("load/dns-client.ts", import.meta.url)), {
      env: {
        ...process.env,
        DNS_PORT: String(port),
        DNS_MS: String(durationMs),
        DNS_WINDOW: String(WINDOW),
      },
    });
    child.once("error", reject);
    child.once("message", (rate) => resolve(Number(rate)));
  });
}

async function startEcho(signal: AbortSignal): Promise<number> {
  const socket: Socket = createSocket({ type: "udp4", recvBufferSize: 1024 * 1024 });
  socket.on("message", (packet, { port, address }) => socket.send(packet, port, address));
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  signal.addEventListener("abort", () => socket.close(), { once: true });
  return socket.address().port;
}

function queryFor(index: number): Buffer {
  const question = encodeQuestion(`service-${index % SERVICES}.default.svc.cluster.local`, 1);
  return Buffer.concat([Buffer.from([0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]), question]);
}

function filledZone(): Zone {
  const zone = new Zone({ clusterDomain: "cluster.local", ttlSeconds: 5 });
  zone.addNamespace("default");
  for (let i = 0; i < SERVICES; i++) {
    const metadata = { namespace: "default", name: `service-${i}` };
    const ports = [{ name: "http", port: 80, protocol: "TCP" as const }];
    const clusterIPs = [`10.96.${i >> 8}.${i & 255}`];
    zone.services.putService(build(serviceKind, { metadata, spec: { clusterIPs, ports } }));
    const slice = build(endpointSliceKind, {
      metadata: { ...metadata, labels: { "kubernetes.io/service-name": metadata.name } },
      endpoints: [1, 2].map((n) => ({
        addresses: [`10.${n}.${i >> 8}.${i & 255}`],
        conditions: {},
      })),
      ports,
    });
    zone.services.putSlice(slice);
  }
  return zone;
}

function responderOf(zone: Zone): Responder {
  const routes = new Routes(
    {
      ...{ config: defaultConfig([]), clock: systemClock, random: seededRandom(1) },
      ...{ logger: silentLogger, metrics: new Metrics(), serverLabel: "dns://:53" },
    },
    new AbortController().signal,
  );
  const metrics = createRequestMetrics(new Metrics(), { server: "dns://:53", zone: zone.domain });
  return new Responder({
    ...{ zone, ttlSeconds: 5, clock: systemClock, random: seededRandom(1), metrics },
    pods: new PodAddresses(),
    routes: () => routes,
    ready: () => true,
  });
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}

function heapAfterCollection(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}
