/** The text of `cpu_manager_state`, as upstream writes and reads it (its second format). Pure. */
import { type CpuState, NO_CPUS } from "#kubelet/decide/resources/cpu-policy.ts";
import { formatCpuSet, parseCpuSet } from "#kubelet/decide/resources/cpu-set.ts";
import { dumpChecksum } from "#kubelet/resize/data-checksum.ts";
import { messageOf } from "#lib/caught.ts";

type Entries = Readonly<Record<string, Readonly<Record<string, string>>>>;

export function cpuCheckpointText(policyName: string, { shared, assigned }: CpuState): string {
  const entries: Entries = Object.fromEntries(
    sorted(assigned).map(([uid, containers]) => [
      uid,
      Object.fromEntries(sorted(containers).map(([name, cpus]) => [name, formatCpuSet(cpus)])),
    ]),
  );
  const defaultCpuSet = formatCpuSet(shared);
  return JSON.stringify({
    policyName,
    defaultCpuSet,
    ...(assigned.size === 0 ? {} : { entries }),
    checksum: checksumOf(policyName, defaultCpuSet, entries),
  });
}

/** Throws when it is damaged or of another policy. */
export function parseCpuCheckpoint(policyName: string, text: string): CpuState {
  const stored = JSON.parse(text) as {
    policyName?: string;
    defaultCpuSet?: string;
    entries?: Entries;
    checksum?: number;
  };
  const { policyName: policy = "", defaultCpuSet = "", entries = {}, checksum = 0 } = stored;
  if (checksum !== 0 && checksum !== checksumOf(policy, defaultCpuSet, entries)) {
    throw new Error("checkpoint is corrupted");
  }
  if (policy !== policyName) {
    throw new Error(
      `configured policy ${JSON.stringify(policyName)} differs from state checkpoint policy ${JSON.stringify(policy)}`,
    );
  }
  const parse = (set: string, what: string): readonly number[] => {
    try {
      return parseCpuSet(set);
    } catch (error) {
      throw new Error(`could not parse ${what}: ${messageOf(error)}`);
    }
  };
  const assigned = Object.entries(entries).map(([uid, containers]) => {
    const sets = Object.entries(containers).map(([name, set]) => {
      const what = `cpuset "${set}" for container "${name}" in pod "${uid}"`;
      return [name, parse(set, what)] as const;
    });
    return [uid, new Map(sets)] as const;
  });
  const shared = parse(defaultCpuSet, `default cpu set "${defaultCpuSet}"`);
  return { ...NO_CPUS, shared, assigned: new Map(assigned) };
}

function checksumOf(policyName: string, defaultCpuSet: string, entries: Entries): number {
  const pods = Object.entries(entries)
    .sort(byName)
    .map(([uid, containers]) => {
      const sets = Object.entries(containers).sort(byName);
      return `${uid}:map[${sets.map(([name, set]) => `${name}:${set}`).join(" ")}]`;
    });
  return dumpChecksum(
    `(*state.CPUManagerCheckpoint){PolicyName:(string)${policyName} DefaultCPUSet:(string)${defaultCpuSet} Entries:(map[string]map[string]string)map[${pods.join(" ")}] Checksum:(checksum.Checksum)0}`,
  );
}

function sorted<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].sort(byName);
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
