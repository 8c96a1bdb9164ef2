/**
 * Gives the same Services to our proxy and to upstream's kube-proxy, one after the other on the same node
 * with the same addresses, and sends the same packets from a pod, another pod, the node and a client
 * outside. The second round changes every Service while the proxy runs.
 */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { LAUNCHER, PROGRAM } from "../../../test/built-program.ts";
import {
  NODE_IP,
  NODE_IP_V6,
  type NodeNetwork,
  type Place,
  POD_IPS,
  startNodeNetwork,
} from "../../../test/e2e/proxy/node-network.ts";
import { startControlPlane } from "../control-plane.ts";
import { APPLY_SCRIPT } from "../scripts.ts";
import { type Answers, differenceOf } from "./compare-answers.ts";
import { PROBE_SCRIPT } from "./probe-script.ts";
import { type Scenario, scenarioOf, type Target, type Write } from "./scenario.ts";

export interface AgreementOptions {
  readonly upstream: string;
  readonly mode: string;
  readonly seed: number;
}

export interface AgreementResult {
  readonly compared: number;
  readonly differences: readonly string[];
  /** Of connections to Services with both pods behind them, those that the first one took. */
  readonly shares: { readonly own: number; readonly other: number };
}

const PLACES: readonly Place[] = ["pod1", "pod2", "outside", "node"];
const ROUNDS = [0, 1];
const TIMES = 16;
const READY_TIMEOUT_MS = 120_000;
/** UDP flows of endpoints that are gone are ended after the rules are written. */
const SETTLE_MS = 2_000;
const UPSTREAM_FLAGS = ["--conntrack-max-per-core=0", "--conntrack-min=0"];

/** Answers by round, place and target. */
type Observed = ReadonlyMap<string, Answers>;

export async function compareProxies(options: AgreementOptions): Promise<AgreementResult> {
  const { upstream, mode, seed } = options;
  const scenarios = ROUNDS.map((round) => scenarioOf(seed, round));
  await using network = await startNodeNetwork();
  // Every refused connection shall hear of it.
  await network.sh("node", "sysctl -qw net.ipv4.icmp_ratelimit=0 net.ipv6.icmp.ratelimit=0");
  await network.sh("node", "sysctl -qw net.ipv4.icmp_msgs_per_sec=1000000 || true");
  const data = await startControlPlane(network.machine, "10.96.0.0/16,fd96::/112");
  await write(network, BASE_WRITES);
  const around = { network, data, mode, scenarios };
  const own = await observe(around, [LAUNCHER, "proxy", "--no-network-policy"], 1);
  const other = await observe(around, [upstream, ...UPSTREAM_FLAGS], 1 + ROUNDS.length);
  const differences: string[] = [];
  let compared = 0;
  for (const { round, place, target } of questions(scenarios)) {
    // Upstream lets packets to the service range that no rule takes go their way in this mode.
    if (mode === "iptables" && target.isUnused) continue;
    const key = keyOf(round, place, target);
    const difference = differenceOf(target, own.get(key)!, other.get(key)!);
    compared += 1;
    if (difference !== undefined) differences.push(`${mode}, from ${place}: ${difference}`);
  }
  return { compared, differences, shares: { own: shareOf(own), other: shareOf(other) } };
}

interface Around {
  readonly network: NodeNetwork;
  readonly data: string;
  readonly mode: string;
  readonly scenarios: readonly Scenario[];
}

/** Each round ends with a marker of its own: its rules are written after all others of the round. */
async function observe(
  { network, data, mode, scenarios }: Around,
  command: readonly string[],
  firstMarker: number,
): Promise<Observed> {
  await write(network, scenarios[0]!.writes);
  const [program = "", ...args] = command;
  const child = network.machine.start(program, [
    ...args,
    ...["--proxy-mode", mode, "--kubeconfig", join(data, "controller-manager.kubeconfig")],
    ...["--cluster-cidr", "10.244.0.0/16,fd44::/64", "--hostname-override", "node1"],
  ]);
  let log = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk) => {
      log = `${log}${chunk}`.slice(-4_000);
    });
  }
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const observed = new Map<string, Answers>();
  try {
    for (const [round, { writes, targets }] of scenarios.entries()) {
      if (round > 0) await write(network, writes);
      await write(network, markerWrites(firstMarker + round));
      await untilReady(network, firstMarker + round, () => log);
      await sleep(SETTLE_MS);
      await Promise.all(
        PLACES.map(async (place) => {
          const asked = targets.filter(({ onlyFromNode }) => !onlyFromNode || place === "node");
          const answers = await probe(network, place, asked);
          for (const [i, target] of asked.entries()) {
            observed.set(keyOf(round, place, target), answers[i]!);
          }
        }),
      );
    }
  } finally {
    await network.sh("node", "kill $(pgrep -f -- '--[h]ostname-override node1' | head -1)");
    await ended;
    await network.sh("node", `${process.execPath} ${PROGRAM} proxy --cleanup`);
    await network.sh(
      "node",
      "nft flush ruleset; conntrack -F 2>/dev/null; sysctl -qw net.ipv4.conf.all.route_localnet=0",
    );
  }
  return observed;
}

function* questions(
  scenarios: readonly Scenario[],
): Iterable<{ readonly round: number; readonly place: Place; readonly target: Target }> {
  for (const [round, { targets }] of scenarios.entries()) {
    for (const place of PLACES) {
      for (const target of targets) {
        if (!target.onlyFromNode || place === "node") yield { round, place, target };
      }
    }
  }
}

function keyOf(round: number, place: Place, { host, port, protocol }: Target): string {
  return `${round} ${place} ${protocol} ${host} ${port}`;
}

async function write({ machine }: NodeNetwork, writes: readonly Write[]): Promise<void> {
  const file = join(machine.dir, "writes.json");
  writeFileSync(file, JSON.stringify(writes));
  const { exitCode, stderr } = await machine.run(process.execPath, ["-e", APPLY_SCRIPT, file]);
  assert.equal(exitCode, 0, stderr);
}

async function probe(
  network: NodeNetwork,
  place: Place,
  targets: readonly Target[],
): Promise<readonly Answers[]> {
  const file = join(network.machine.dir, `targets-${place}.json`);
  const script = join(network.machine.dir, "probe.cjs");
  writeFileSync(script, PROBE_SCRIPT);
  writeFileSync(file, JSON.stringify(targets));
  const firstPort = 20_000 + PLACES.indexOf(place) * 1_000;
  const command = `${process.execPath} ${script} ${file} ${TIMES} ${firstPort}`;
  return JSON.parse(await network.sh(place, command));
}

/** Both families: the rules of each are written for themselves. */
async function untilReady(network: NodeNetwork, marker: number, log: () => string): Promise<void> {
  const endMs = Date.now() + READY_TIMEOUT_MS;
  for (const host of [`10.96.0.${200 + marker}`, `[fd96::${200 + marker}]`]) {
    while ((await network.get("pod2", host, 1)).exitCode !== 0) {
      if (Date.now() > endMs) throw new Error(`${host} does not answer: ${log()}`);
    }
  }
}

function shareOf(observed: Observed): number {
  let [first, all] = [0, 0];
  for (const answers of observed.values()) {
    const counts = Object.entries(answers).filter(([answer]) => answer.startsWith("pod"));
    if (new Set(counts.map(([answer]) => answer.slice(0, 4))).size < 2) continue;
    for (const [answer, count] of counts) {
      all += count;
      if (answer.startsWith("pod1")) first += count;
    }
  }
  return first / all;
}

const READY = { ready: true };
const service = (name: string, spec: object): Write => [
  "PATCH",
  `/api/v1/namespaces/default/services/${name}?fieldManager=base`,
  { apiVersion: "v1", kind: "Service", metadata: { name }, spec },
];
const slice = (name: string, addressType: string, ip: string): Write => [
  "PATCH",
  `/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/${name}?fieldManager=base`,
  {
    ...{ apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice", addressType },
    metadata: { name, labels: { "kubernetes.io/service-name": name } },
    endpoints: [{ addresses: [ip], conditions: READY, nodeName: "node1" }],
    ports: [{ name: "p", port: 8080, protocol: "TCP" }],
  },
];
const PORTS = { ports: [{ name: "p", port: 80, protocol: "TCP" }] };

/** A Service of each family that answers once the rules of all that was written before it are there. */
function markerWrites(marker: number): readonly Write[] {
  const [four, six] = [`ready4-${marker}`, `ready6-${marker}`];
  return [
    service(four, { clusterIP: `10.96.0.${200 + marker}`, ...PORTS }),
    service(six, { clusterIP: `fd96::${200 + marker}`, ipFamilies: ["IPv6"], ...PORTS }),
    slice(four, "IPv4", POD_IPS.pod1),
    slice(six, "IPv6", "fd44::11"),
  ];
}

/** The node. */
const BASE_WRITES: readonly Write[] = [
  [
    "PATCH",
    "/api/v1/nodes/node1?fieldManager=base",
    {
      ...{ apiVersion: "v1", kind: "Node" },
      metadata: { name: "node1", labels: { "topology.kubernetes.io/zone": "a" } },
    },
  ],
  [
    "PATCH",
    "/api/v1/nodes/node1/status",
    {
      ...{ apiVersion: "v1", kind: "Node", metadata: { name: "node1" } },
      status: {
        addresses: [NODE_IP, NODE_IP_V6].map((address) => ({ type: "InternalIP", address })),
      },
    },
  ],
];
