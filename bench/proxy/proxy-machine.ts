/** A node inside a test machine with an API server, Services without real endpoints, and one with two pods. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { PROGRAM } from "../../test/built-program.ts";
import { POD_IPS, startNodeNetwork } from "../../test/e2e/proxy/node-network.ts";
import { startControlPlane } from "./control-plane.ts";
import { CHANGE_SCRIPT, CONNECT_SCRIPT, FILL_SCRIPT, FIRST_ANSWER_SCRIPT } from "./scripts.ts";

export interface ProxyBench extends AsyncDisposable {
  fill(services: number, endpoints: number): Promise<void>;
  startProxy(command: readonly string[], mode: string): Promise<BenchedProxy>;
  /** Median of the times from a changed EndpointSlice until a new connection follows it. */
  changeMs(): Promise<number>;
  connections(): Promise<ConnectionRate>;
}

export interface ConnectionRate {
  /** Through a cluster IP. */
  readonly perSecond: number;
  /** The ratio to connections to the pod itself, measured in turns. */
  readonly besideDirect: number;
}

export interface BenchedProxy extends AsyncDisposable {
  /** From the start of the program until the cluster IP of the real Service answers. */
  readonly startMs: number;
  /** The longest sync, as the proxy's own metrics have it. */
  syncMs(): Promise<number>;
  /** Resident memory once the program has rested. */
  memoryMb(): Promise<number>;
  /** Processor time so far, with that of the programs that write rules. */
  cpuMs(): Promise<number>;
}

const START_TIMEOUT_MS = 400_000;
const REST_MS = 10_000;

export async function startProxyBench(): Promise<ProxyBench> {
  const network = await startNodeNetwork();
  const { machine } = network;
  const data = await startControlPlane(machine, "10.96.0.0/16");
  const numbers = async (place: string, code: string, ...args: string[]): Promise<number[]> => {
    const inside = place === "node" ? [] : ["ip", "netns", "exec", place];
    const command = [...inside, process.execPath, "-e", code, ...args];
    const { exitCode, stdout, stderr } = await machine.run(command[0]!, command.slice(1));
    assert.equal(exitCode, 0, stderr);
    return stdout.trim().split(" ").map(Number);
  };
  const script = async (place: string, code: string, ...args: string[]): Promise<number> =>
    (await numbers(place, code, ...args))[0]!;
  return {
    fill: async (services, endpoints) => {
      await script("node", FILL_SCRIPT, String(services), String(endpoints), POD_IPS.pod1);
    },
    startProxy: async (command, mode) => {
      const [program = "", ...args] = command;
      const startedMs = performance.now();
      const child = machine.start(program, [
        ...args,
        ...["--proxy-mode", mode, "--kubeconfig", join(data, "controller-manager.kubeconfig")],
        ...["--cluster-cidr", "10.244.0.0/16", "--hostname-override", "node1"],
      ]);
      let log = "";
      child.stderr?.on("data", (chunk) => {
        log = `${log}${chunk}`.slice(-4_000);
      });
      child.stdout?.resume();
      const ended = new Promise((resolve) => child.once("exit", resolve));
      await script("pod2", FIRST_ANSWER_SCRIPT, String(START_TIMEOUT_MS)).catch(
        (error: unknown) => {
          throw new Error(`${error}\n${log}`);
        },
      );
      const startMs = performance.now() - startedMs;
      const pid = async (): Promise<string> =>
        (await network.sh("node", `pgrep -f -- '--[h]ostname-override node1' | head -1`)).trim();
      return {
        startMs,
        syncMs: async () => {
          // The kernel answers before the proxy has noticed the end of the command that wrote the rules.
          for (let tries = 0; tries < 300; tries++) {
            const text = await network.sh("node", "curl -s http://127.0.0.1:10249/metrics");
            const ms = longestSyncMs(text);
            if (ms !== undefined) return ms;
            await sleep(200);
          }
          throw new Error("the proxy's metrics have no time of a sync");
        },
        memoryMb: async () => {
          await sleep(REST_MS);
          const script = `awk '/VmRSS/ { print $2 }' /proc/${await pid()}/status`;
          return Number(await network.sh("node", script)) / 1024;
        },
        cpuMs: async () => {
          const script = `awk '{ print ($14 + $15 + $16 + $17) * 10 }' /proc/${await pid()}/stat`;
          return Number(await network.sh("node", script));
        },
        [Symbol.asyncDispose]: async () => {
          await network.sh("node", `kill ${await pid()}`);
          await ended;
          await network.sh("node", `${process.execPath} ${PROGRAM} proxy --cleanup`);
          await sleep(200); // conntrack entries of closed connections
        },
      };
    },
    changeMs: () => script("node", CHANGE_SCRIPT, POD_IPS.pod1, POD_IPS.pod2),
    connections: async () => {
      const [perSecond = 0, besideDirect = 0] = await numbers("pod2", CONNECT_SCRIPT, POD_IPS.pod1);
      return { perSecond, besideDirect };
    },
    [Symbol.asyncDispose]: () => network[Symbol.asyncDispose](),
  };
}

/** The first sync is the only long one: the sum of all is about its time. Undefined before it. */
function longestSyncMs(metrics: string): number | undefined {
  const sums = [
    ...metrics.matchAll(
      /^kubeproxy_sync_(?:full_)?proxy_rules_duration_seconds_sum\S*IPv4\S* (\S+)$/gm,
    ),
  ].map(([, value]) => Number(value) * 1000);
  const longest = Math.max(0, ...sums);
  return longest > 0 ? longest : undefined;
}
