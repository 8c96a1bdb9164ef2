/** cpuManagerPolicyOptions and topologyManagerPolicyOptions, with upstream's errors. Pure. */
import { goQuote } from "#api/meta/go-quote.ts";
import type { CpuPolicyOptions } from "./cpu-policy.ts";

type Options = Readonly<Record<string, string>>;

const CPU_ALPHA = ["align-by-socket", "distribute-cpus-across-cores"];
const CPU_OPTIONS = {
  "full-pcpus-only": "fullPhysicalCpusOnly",
  "distribute-cpus-across-numa": "distributeAcrossNuma",
  "strict-cpu-reservation": "strictReservation",
  "prefer-align-cpus-by-uncorecache": "alignByUncoreCache",
} as const satisfies Record<string, keyof CpuPolicyOptions>;
const NUMA_NODES_MAX = 8;

export function cpuPolicyOptions(options: Options): CpuPolicyOptions {
  const result = {
    fullPhysicalCpusOnly: false,
    distributeAcrossNuma: false,
    strictReservation: false,
    alignByUncoreCache: false,
  };
  for (const [name, value] of Object.entries(options)) {
    if (CPU_ALPHA.includes(name)) {
      throw new Error(
        `CPU Manager Policy Alpha-level Options not enabled, but option ${goQuote(name)} provided`,
      );
    }
    if (!Object.hasOwn(CPU_OPTIONS, name)) {
      throw new Error(`unknown CPU Manager Policy option: ${goQuote(name)}`);
    }
    result[CPU_OPTIONS[name as keyof typeof CPU_OPTIONS]] = parseBool(name, value);
  }
  if (result.alignByUncoreCache && result.distributeAcrossNuma) {
    throw new Error(
      "static policy options prefer-align-cpus-by-uncorecache and distribute-cpus-across-numa can not be used at the same time",
    );
  }
  return result;
}

export interface TopologyPolicyOptions {
  readonly preferClosest: boolean;
  readonly numaNodesMax: number;
}

export function topologyPolicyOptions(options: Options): TopologyPolicyOptions {
  let [preferClosest, numaNodesMax] = [false, NUMA_NODES_MAX];
  for (const [name, value] of Object.entries(options)) {
    if (name === "prefer-closest-numa-nodes") preferClosest = parseBool(name, value);
    else if (name === "max-allowable-numa-nodes") numaNodesMax = parseNodesMax(name, value);
    else throw new Error(`unknown Topology Manager Policy option: ${goQuote(name)}`);
  }
  return { preferClosest, numaNodesMax };
}

function parseNodesMax(name: string, value: string): number {
  if (!/^[-+]?\d+$/.test(value)) {
    throw new Error(
      `unable to convert policy option to integer ${goQuote(name)}: strconv.Atoi: parsing ${goQuote(value)}: invalid syntax`,
    );
  }
  if (Number(value) >= NUMA_NODES_MAX) return Number(value);
  throw new Error(
    `the minimum value of ${goQuote(name)} should not be less than ${NUMA_NODES_MAX}`,
  );
}

function parseBool(name: string, value: string): boolean {
  if (["1", "t", "T", "true", "TRUE", "True"].includes(value)) return true;
  if (["0", "f", "F", "false", "FALSE", "False"].includes(value)) return false;
  throw new Error(
    `bad value for option ${goQuote(name)}: strconv.ParseBool: parsing ${goQuote(value)}: invalid syntax`,
  );
}
