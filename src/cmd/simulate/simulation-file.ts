/**
 * The configuration file of simulated nodes:
 *
 *     nodes:
 *       capacity: { cpu: "64", memory: 512Gi, pods: "250" }
 *       labels: { pool: batch }
 *       zones: [zone-a, zone-b]
 *       taints: [{ key: pool, value: batch, effect: NoSchedule }]
 *     pods:
 *     - labels: { app: web }
 *       start-delay: 2s
 *       logs: "listening on :8080"
 */
import { readFileSync } from "node:fs";
import { load } from "js-yaml";
import type { Taint } from "#api/generated/core.v1.ts";
import { parseQuantity } from "#api/meta/quantity.ts";
import { messageOf } from "#lib/caught.ts";
import { closestWord } from "#lib/text/closest-word.ts";
import { BEHAVIOUR_NAMES, type BehaviourRule, readBehaviour } from "#sim/behaviour.ts";
import { DEFAULT_TEMPLATE, type NodeTemplate } from "#sim/node-template.ts";
import { DEFAULT_SIMULATION, type SimulationConfig } from "#sim/run-simulation.ts";
import { FlagError } from "../flags/parse-flags.ts";

export function simulationOf(file: string | undefined): SimulationConfig {
  if (file === undefined) return DEFAULT_SIMULATION;
  try {
    return readSimulation(load(readFileSync(file, "utf8")));
  } catch (error) {
    throw new FlagError(`${file}: ${messageOf(error)}`);
  }
}

export function readSimulation(content: unknown): SimulationConfig {
  const { nodes, pods } = fieldsOf(content ?? {}, "the file", ["nodes", "pods"]);
  if (pods !== undefined && !Array.isArray(pods)) throw new Error("pods must be a list");
  return {
    nodes: nodes === undefined ? DEFAULT_TEMPLATE : templateOf(nodes),
    pods: ((pods as readonly unknown[] | undefined) ?? []).map(ruleOf),
  };
}

function templateOf(content: unknown): NodeTemplate {
  const names = ["capacity", "labels", "taints", "zones"];
  const { capacity, labels, taints, zones } = fieldsOf(content, "nodes", names);
  const amounts = { ...DEFAULT_TEMPLATE.capacity, ...textsOf(capacity, "nodes.capacity") };
  for (const [name, amount] of Object.entries(amounts)) {
    const parsed = parseQuantity(amount);
    if (!parsed.ok) throw new Error(`nodes.capacity.${name}: ${parsed.error}`);
  }
  return {
    capacity: amounts,
    labels: textsOf(labels, "nodes.labels"),
    taints: listOf(taints, "nodes.taints").map(taintOf),
    zones: zones === undefined ? DEFAULT_TEMPLATE.zones : listOf(zones, "nodes.zones").map(String),
  };
}

function taintOf(content: unknown): Taint {
  const taint = textsOf(content, "a taint");
  const { key = "", value, effect } = taint;
  if (effect !== "NoSchedule" && effect !== "PreferNoSchedule" && effect !== "NoExecute") {
    throw new Error(`nodes.taints: ${JSON.stringify(effect)} is no effect of a taint`);
  }
  return { key, effect, ...(value === undefined ? {} : { value }) };
}

function ruleOf(content: unknown, index: number): BehaviourRule {
  const where = `pods[${index}]`;
  const fields = fieldsOf(content, where, ["namespace", "labels", ...BEHAVIOUR_NAMES]);
  const { namespace, labels, ...rest } = fields;
  const { behaviour, problems } = readBehaviour(textsOf(rest, where));
  if (problems.length > 0) throw new Error(`${where}.${problems[0]}`);
  return {
    ...(namespace === undefined ? {} : { namespace: String(namespace) }),
    ...(labels === undefined ? {} : { labels: textsOf(labels, `${where}.labels`) }),
    behaviour,
  };
}

function fieldsOf(
  content: unknown,
  where: string,
  names: readonly string[],
): Readonly<Record<string, unknown>> {
  if (typeof content !== "object" || content === null || Array.isArray(content)) {
    throw new Error(`${where} must be a map`);
  }
  const unknown = Object.keys(content).find((name) => !names.includes(name));
  if (unknown !== undefined) {
    const meant = closestWord(unknown, names);
    const hint = meant === undefined ? "" : ` (did you mean ${meant}?)`;
    throw new Error(`${where}: unknown field ${JSON.stringify(unknown)}${hint}`);
  }
  return content as Readonly<Record<string, unknown>>;
}

function textsOf(content: unknown, where: string): Record<string, string> {
  if (content === undefined) return {};
  if (typeof content !== "object" || content === null || Array.isArray(content)) {
    throw new Error(`${where} must be a map`);
  }
  return Object.fromEntries(
    Object.entries(content).map(([name, value]) => {
      if (typeof value === "object") throw new Error(`${where}.${name} must be a text`);
      return [name, String(value)];
    }),
  );
}

function listOf(content: unknown, where: string): readonly unknown[] {
  if (content === undefined) return [];
  if (!Array.isArray(content)) throw new Error(`${where} must be a list`);
  return content;
}
