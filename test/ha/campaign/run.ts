/**
 * The long fault campaign, by hand: `npx tsx test/ha/campaign/run.ts [--kinds kill,cut] [--pairs 10] [--seed 1]
 * [--hold 8] [--report FILE]`. Every fault of these kinds in turn, then random pairs of all faults; a table in
 * Markdown at the end. With K8TS_KUBE_APISERVER, a kube-apiserver, upstream's API servers take the place of ours.
 */
import { appendFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { type Random, seededRandom } from "#lib/random.ts";
import { buildProgram } from "../../built-program.ts";
import { type CampaignResult, runCampaign } from "./campaign.ts";
import { startControlPlane } from "./control-plane.ts";
import { allFaults, type Fault } from "./faults.ts";
import { outageBetween } from "./outage.ts";

const { values } = parseArgs({
  options: {
    kinds: { type: "string", default: "kill,freeze,cut,slow-disk,full-disk,clock" },
    pairs: { type: "string", default: "0" },
    seed: { type: "string", default: "1" },
    hold: { type: "string", default: "8" },
    report: { type: "string" },
  },
});

buildProgram();
const kubeApiServer = process.env.K8TS_KUBE_APISERVER;
const seed = Number(values.seed);
await using plane = await startControlPlane({ leaseSeconds: [15, 10, 2], kubeApiServer });
const faults = allFaults(plane).filter(
  ({ kind }) => kubeApiServer === undefined || kind !== "clock",
);
const kinds = values.kinds.split(",");
const rounds = [
  ...faults.filter(({ kind }) => kinds.includes(kind)).map((fault) => [fault]),
  ...randomPairs(faults, Number(values.pairs), seededRandom(seed)),
];
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const holdMs = Number(values.hold) * 1000;
const result = await runCampaign(plane, { rounds, seed, holdMs, say });
const text = report(result, kubeApiServer === undefined ? "k8ts" : "kube-apiserver");
say(text);
if (values.report !== undefined) appendFileSync(values.report, `${text}\n`);
process.exitCode = result.problems.length === 0 ? 0 : 1;

/** Pairs that do not touch the same machine; the same for the same seed. */
function randomPairs(from: readonly Fault[], count: number, random: Random): Fault[][] {
  const pairs: Fault[][] = [];
  while (pairs.length < count) {
    const [a, b] = [from[random.integer(from.length)]!, from[random.integer(from.length)]!];
    if (a.touches.some((name) => b.touches.includes(name))) continue;
    pairs.push([a, b]);
  }
  return pairs;
}

function report({ rounds, history, acts, problems }: CampaignResult, server: string): string {
  const operations = history.filter((one) => one.k === "op");
  const events = history.filter((one) => one.k === "event");
  const count = (outcome: string): number =>
    operations.filter((one) => one.k === "op" && one.outcome === outcome).length;
  const relists = history.filter((one) => one.k === "begin").length - 3;
  const seconds = (ms: number): string => (ms / 1000).toFixed(1);
  const rows = rounds.map(({ name, beginMs, endMs, lastedMs }) => {
    const { oneClientMs, allClientsMs } = outageBetween(history, beginMs, endMs);
    return `| ${name} | ${seconds(lastedMs)} | ${seconds(allClientsMs)} | ${seconds(oneClientMs)} |`;
  });
  return [
    `${server}, seed ${seed}: ${count("ok")} requests acknowledged, ${count("refused")} refused (conflicts), ${count("unknown")} without an outcome; ${events.length} watch events, ${relists} watches listed again (410); ${acts} writes of managers and schedulers.`,
    `Violations: ${problems.length === 0 ? "none" : `${problems.length}`}`,
    ...problems.slice(0, 20).map((problem) => `- ${problem}`),
    "",
    "| fault | lasted (s) | no client could write (s) | one client waited (s) |",
    "| --- | --- | --- | --- |",
    ...rows,
  ].join("\n");
}
