/** A pod's decision records in words. */
import type { AttemptRecord, NearestMiss, NodeScore, PodRecord } from "./decision-records.ts";

export function explainPod({ namespace, name, attempts, held }: PodRecord): string {
  const lines = [
    `Pod ${namespace}/${name}: ${attempts.length} recorded attempt(s), the latest last.`,
  ];
  if (held !== undefined) {
    const since = `since ${new Date(held.atMs).toISOString()}`;
    lines.push(`  not tried: held by ${held.plugin} ${since}: ${held.reasons.join(", ")}`);
  }
  for (const attempt of attempts) lines.push("", ...explainAttempt(attempt));
  return `${lines.join("\n")}\n`;
}

function explainAttempt(record: AttemptRecord): string[] {
  const { attempt, atMs, outcome, evaluated, feasible } = record;
  const head = `Attempt ${attempt} at ${new Date(atMs).toISOString()}:`;
  const searched = `  ${evaluated} node(s) evaluated, ${feasible} fit.`;
  const reasons = Object.entries(record.reasons)
    .sort(([, a], [, b]) => b - a)
    .map(([reason, count]) => `  ${count} node(s) rejected: ${reason}`);
  const plugins = Object.entries(record.rejections).map(([name, count]) => `${name} ${count}`);
  if (plugins.length > 0) reasons.unshift(`  rejections by plugin: ${plugins.join(", ")}`);
  if (outcome.kind === "node") {
    return [
      head,
      `  chose node ${outcome.node}`,
      searched,
      ...reasons,
      ...outcome.scores.map(score),
      ...(record.failure === undefined ? [] : [`  not bound: ${record.failure}`]),
    ];
  }
  const lines = [head, `  no node: ${outcome.message}`, searched, ...reasons];
  if (outcome.nearestMiss !== undefined) lines.push(miss(outcome.nearestMiss));
  if (outcome.nominatedNode !== undefined && outcome.nominatedNode !== "") {
    lines.push(`  room is being made on node ${outcome.nominatedNode}`);
  }
  for (const victim of outcome.victims) lines.push(`  preempted pod: ${victim}`);
  return lines;
}

function score({ node, total, byPlugin }: NodeScore): string {
  const parts = Object.entries(byPlugin).map(([plugin, value]) => `${plugin} ${value}`);
  return `  score ${total} for node ${node} (${parts.join(", ")})`;
}

function miss({ node, shortages }: NearestMiss): string {
  const parts = shortages.map(
    ({ resource, requested, free }) =>
      `${amount(resource, requested)} ${resource} requested, ${amount(resource, free)} free`,
  );
  return `  nearest miss: node ${node} (${parts.join("; ")})`;
}

function amount(resource: string, value: number): string {
  return resource === "cpu" ? `${value}m` : String(value);
}
