/** The file of `--cloud-config` for the simulated provider: YAML or JSON, every field optional. */
import { readYaml } from "#api/codec/yaml-reader.ts";
import { parseDuration } from "#api/meta/duration.ts";
import type { Fault, Quota } from "./simulated-cloud.ts";

export interface SimulatedConfig {
  /** `host:port` of the machine API; it is not served unless given. */
  readonly listen: { readonly host: string; readonly port: number } | undefined;
  readonly latencyMs: number;
  readonly quota: Partial<Quota>;
  readonly range: string | undefined;
  readonly faults: readonly Fault[];
  readonly machines: readonly MachineDraft[];
  readonly schedule: readonly ScheduledAction[];
}

export interface MachineDraft {
  readonly name: string;
  readonly type?: string;
  readonly zone?: string;
  readonly region?: string;
  readonly address?: string;
}

export interface ScheduledAction {
  /** After the start. */
  readonly afterMs: number;
  readonly action: "create" | "stop" | "start" | "delete";
  /** The name of the machine. */
  readonly machine: string;
}

const ACTIONS: readonly string[] = ["create", "stop", "start", "delete"];
const FIELDS = ["listen", "latency", "quota", "range", "faults", "machines", "schedule"];

export function parseSimulatedConfig(text: string): SimulatedConfig {
  const read = readYaml(text.trim() === "" ? "{}" : text);
  if (!read.ok) throw new Error(`cloud config: ${read.error}`);
  const config = recordOf(read.value, "cloud config");
  const unknown = Object.keys(config).find((name) => !FIELDS.includes(name));
  if (unknown !== undefined) throw new Error(`cloud config: unknown field "${unknown}"`);
  return {
    listen: config.listen === undefined ? undefined : listenOf(String(config.listen)),
    latencyMs: config.latency === undefined ? 0 : msOf(config.latency, "latency"),
    quota: (config.quota ?? {}) as Partial<Quota>,
    range: config.range === undefined ? undefined : String(config.range),
    faults: listOf(config.faults, "faults") as readonly Fault[],
    machines: listOf(config.machines, "machines").map(machineOf),
    schedule: listOf(config.schedule, "schedule").map(actionOf),
  };
}

export function machineOf(value: unknown): MachineDraft {
  const { name, ...rest } = recordOf(value, "machine");
  if (typeof name !== "string" || name === "" || name.length > 253) {
    throw new Error("machine: name must be the name of a Node");
  }
  const texts = ["type", "zone", "region", "address"].flatMap((field) =>
    typeof rest[field] === "string" ? [[field, rest[field]]] : [],
  );
  return { name, ...Object.fromEntries(texts) };
}

function actionOf(value: unknown): ScheduledAction {
  const { after, action, machine } = recordOf(value, "schedule");
  if (!ACTIONS.includes(String(action))) {
    throw new Error(`schedule: action must be one of ${ACTIONS.join(", ")}`);
  }
  if (typeof machine !== "string") throw new Error("schedule: machine must be a name");
  const afterMs = msOf(after, "schedule: after");
  return { afterMs, action: action as ScheduledAction["action"], machine };
}

function listenOf(text: string): NonNullable<SimulatedConfig["listen"]> {
  const [, host = "", port = ""] = /^(.*):(\d+)$/.exec(text) ?? [];
  if (port === "") throw new Error(`cloud config: listen must be host:port, not "${text}"`);
  return { host: host.replace(/^\[|\]$/g, "") || "127.0.0.1", port: Number(port) };
}

function msOf(value: unknown, field: string): number {
  const parsed = parseDuration(String(value));
  if (!parsed.ok) throw new Error(`cloud config: ${field}: ${parsed.error}`);
  return Number(parsed.nanos / 1_000_000n);
}

function listOf(value: unknown, field: string): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new Error(`cloud config: ${field} must be a list`);
  return value;
}

function recordOf(value: unknown, field: string): Readonly<Record<string, unknown>> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as Readonly<Record<string, unknown>>;
  }
  throw new Error(`${field}: must be an object`);
}
