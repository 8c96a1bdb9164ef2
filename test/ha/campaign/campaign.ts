/**
 * Runs faults one after the other, or two at a time, against a control plane under load, and checks the
 * history of everything that the load saw.
 */
import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { until } from "../../e2e/node/eventually.ts";
import { checkHistory } from "./check-history.ts";
import { actsOf, checkLeaders } from "./check-leaders.ts";
import type { ControlPlane } from "./control-plane.ts";
import type { Fault } from "./faults.ts";
import {
  type BoundPod,
  type HistoryRecord,
  type LeaseRecord,
  nowMs,
  parseHistory,
} from "./history.ts";
import type { LoadPlan } from "./load.ts";
import { Part } from "./part.ts";

export interface CampaignOptions {
  /** Each is one fault, or two that begin together. */
  readonly rounds: readonly (readonly Fault[])[];
  readonly seed: number;
  /** A fault lasts at least so long. */
  readonly holdMs: number;
  readonly say: (line: string) => void;
}

export interface RoundResult {
  readonly name: string;
  readonly beginMs: number;
  readonly endMs: number;
  /** How long the fault was there. */
  readonly lastedMs: number;
}

export interface CampaignResult {
  readonly rounds: readonly RoundResult[];
  readonly history: readonly HistoryRecord[];
  readonly acts: number;
  readonly problems: readonly string[];
}

const LOAD = fileURLToPath(new URL("load.ts", import.meta.url));
const TSX = createRequire(import.meta.url).resolve("tsx/package.json");
/** Acknowledged writes of every writer until a fault counts as survived. */
const PROGRESS = 3;
const LONG = { timeoutMs: 120_000, everyMs: 50 };
/** While two parts fail there may be no quorum. */
const PAIR_MS = 8_000;

export async function runCampaign(
  plane: ControlPlane,
  { rounds, seed, holdMs, say }: CampaignOptions,
): Promise<CampaignResult> {
  const plan = loadPlan(plane, seed);
  const load = startLoad(plane, plan);
  await load.start();
  const progress = new Progress(plan);
  await progress.made(LONG.timeoutMs, "the beginning");
  const results: RoundResult[] = [];
  for (const faults of rounds) {
    const name = faults.map((fault) => fault.name).join(" and ");
    const beginMs = nowMs();
    for (const fault of faults) await fault.begin();
    await (faults.length === 1
      ? progress.made(LONG.timeoutMs, name)
      : progress.made(PAIR_MS, name).catch(() => undefined));
    await until(() => nowMs() - beginMs >= holdMs, LONG);
    for (const { kind, touches } of faults) {
      const holder = touches[0]!;
      if (kind !== "clock" && hasSuccessor(plane, holder, faults)) await progress.takenOver(holder);
    }
    const lastedMs = nowMs() - beginMs;
    for (const fault of faults) await fault.end();
    await progress.made(LONG.timeoutMs, `after ${name}`);
    results.push({ name, beginMs, endMs: nowMs(), lastedMs });
    say(`${name}: ${Math.round(nowMs() - beginMs)} ms`);
  }
  await load.end("TERM");
  const history = parseHistory(readFileSync(plan.file, "utf8"));
  const leases = history.filter((one): one is LeaseRecord => one.k === "lease");
  const bound = history.filter((one): one is BoundPod => one.k === "bound");
  const acts = plane.auditLogs().flatMap((log) => actsOf(log, plane.elected, bound));
  const unfinished = history.some((one) => one.k === "final") ? [] : [`no end: ${load.log()}`];
  const problems = [...unfinished, ...checkHistory(history), ...checkLeaders(leases, acts)];
  return { rounds: results, history, acts: acts.length, problems };
}

/** Whether the other manager, or scheduler, and the API server that it uses are out of all these faults. */
function hasSuccessor(
  { schedulers, managers, apiServers }: ControlPlane,
  holder: string,
  faults: readonly Fault[],
): boolean {
  const pair = [schedulers, managers].find((parts) => parts.some(({ name }) => name === holder));
  if (pair === undefined) return false;
  const at = pair.findIndex(({ name }) => name !== holder);
  const needed = [pair[at]!.name, apiServers[at]!.name];
  return !faults.some(({ touches }) => needed.some((name) => touches.includes(name)));
}

function loadPlan({ apiServers, ca, token, folder }: ControlPlane, seed: number): LoadPlan {
  const targets = apiServers.map(({ machine: { name, address: host } }) => ({
    ...{ name, host, port: 6443 },
  }));
  const file = join(folder, "history.ndjson");
  return { targets, ca, token, seed, file, registerWriters: 6, registers: 3, itemWriters: 2 };
}

function startLoad({ client, folder }: ControlPlane, plan: LoadPlan): Part {
  const file = join(folder, "load.json");
  writeFileSync(file, JSON.stringify(plan));
  const tsx = pathToFileURL(TSX.replace(/package\.json$/, "dist/loader.mjs")).href;
  return new Part({
    machine: client,
    folder,
    command: [process.execPath, "--import", tsx, LOAD, file],
  });
}

/** Follows the history while it grows. */
class Progress {
  readonly #plan: LoadPlan;
  readonly #acknowledged = new Map<string, number>();
  readonly #holders = new Map<string, string>();
  #readBytes = 0;

  constructor(plan: LoadPlan) {
    this.#plan = plan;
  }

  /** Every writer has written, and had it acknowledged, a few times more. */
  async made(timeoutMs: number, during: string): Promise<void> {
    const { registerWriters, itemWriters } = this.#plan;
    this.#read();
    const before = new Map(this.#acknowledged);
    const isMade = (): boolean => {
      this.#read();
      const now = [...this.#acknowledged];
      if (now.length < registerWriters + itemWriters) return false;
      return now.every(([client, count]) => count >= (before.get(client) ?? 0) + PROGRESS);
    };
    await until(isMade, { ...LONG, timeoutMs }).catch(() => {
      const counts = [before, this.#acknowledged].map((one) => JSON.stringify([...one]));
      throw new Error(`no progress during ${during}: ${counts.join(", then ")}`);
    });
  }

  /** A manager or scheduler that is cut off does not hold its lease any more. */
  async takenOver(machine: string): Promise<void> {
    const holds = (): boolean =>
      [...this.#holders.values()].some((holder) => holder.startsWith(`${machine}_`));
    await until(() => {
      this.#read();
      return !holds();
    }, LONG).catch(() => {
      throw new Error(`the lease of ${machine} is not taken over`);
    });
  }

  #read(): void {
    if (!existsSync(this.#plan.file)) return;
    const file = openSync(this.#plan.file, "r");
    const bytes = Buffer.alloc(fstatSync(file).size - this.#readBytes);
    readSync(file, bytes, 0, bytes.length, this.#readBytes);
    closeSync(file);
    const whole = bytes.subarray(0, bytes.lastIndexOf("\n") + 1);
    this.#readBytes += whole.length;
    for (const one of parseHistory(whole.toString())) {
      if (one.k === "lease") this.#holders.set(one.name, one.holder);
      if (one.k !== "op" || one.outcome !== "ok" || one.verb === "read") continue;
      this.#acknowledged.set(one.client, (this.#acknowledged.get(one.client) ?? 0) + 1);
    }
  }
}
