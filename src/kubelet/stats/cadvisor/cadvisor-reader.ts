/**
 * Reads what `/metrics/cadvisor` shows: containers and their disk from the runtime, everything else from
 * the kernel, at the moment of the request. Nothing is measured between requests.
 *
 * Promises:
 * 1. Requests that come at the same time share a reading.
 * 2. A runtime that does not answer costs its containers, not the page: `container_scrape_error` is 1.
 */
import type { Pod } from "#api/generated/core.v1.ts";
import { blockDeviceName } from "#host/block-io.ts";
import { type CgroupStats, readCgroupStats } from "#host/cgroup-stats.ts";
import { readMachineLayout } from "#host/cpu-topology.ts";
import type { MachineFacts } from "#host/machine.ts";
import { listMounts } from "#host/mounts.ts";
import { readNetworkUsage } from "#host/network-usage.ts";
import { filesystemSpace } from "#host/node-usage.ts";
import { SmallFiles } from "#host/small-files.ts";
import type { CriClient } from "#kubelet/cri/cri-client.ts";
import { type PodSandbox, SANDBOX_STATE } from "#kubelet/cri/sandbox-messages.ts";
import type { ContainerStats } from "#kubelet/cri/stats-messages.ts";
import { kubepodsCgroup, podCgroupName, qosCgroups } from "#kubelet/decide/pod-cgroup.ts";
import { parseCpuSet } from "#kubelet/decide/resources/cpu-set.ts";
import { CoalescedRead } from "#lib/async/coalesced-read.ts";
import type { Clock } from "#lib/time/clock.ts";
import { cadvisorMetrics } from "./cadvisor-metrics.ts";
import type { CpuCounts } from "./machine-families.ts";
import { parseSandboxInfo, type SandboxInfo } from "./sandbox-info.ts";
import {
  cgroupNames,
  type MeasuredFilesystem,
  type SandboxUsage,
  type UsageInputs,
  usageRows,
} from "./usage-rows.ts";

export interface CadvisorReaderOptions {
  readonly runtime: Pick<
    CriClient["runtime"],
    "listContainerStats" | "listPodSandbox" | "podSandboxStatus"
  >;
  readonly machine: MachineFacts;
  readonly cgroupVersion: 1 | 2;
  readonly cgroupRoot: string;
  /** Its file system is that of the node. */
  readonly rootFolder: string;
  readonly clock: Clock;
  pods(): readonly Pod[];
}

export class CadvisorReader {
  readonly #options: CadvisorReaderOptions;
  readonly #files = new SmallFiles();
  readonly #read = (path: string): Promise<string | undefined> => this.#files.read(path);
  readonly #page = new CoalescedRead(() => this.#readPage());
  /** By the id of the sandbox; those that the runtime does not list any more are dropped. */
  readonly #sandboxes = new Map<string, SandboxInfo>();
  #fixed: Promise<FixedFacts> | undefined;

  constructor(options: CadvisorReaderOptions) {
    this.#options = options;
  }

  /** The page as it is now. */
  text(): Promise<string> {
    return this.#page.ask();
  }

  async #readPage(): Promise<string> {
    const { machine, clock, cgroupRoot } = this.#options;
    this.#fixed ??= readFixedFacts(machine, this.#read);
    const [fixed, runtime, network, filesystem] = await Promise.all([
      this.#fixed,
      this.#readRuntime(),
      readNetworkUsage("self", this.#read),
      measureFilesystem(this.#options.rootFolder),
    ]);
    const { burstable, besteffort } = qosCgroups(cgroupRoot);
    const known: Omit<UsageInputs, "cgroups"> = {
      ...{ pods: this.#options.pods(), containers: runtime.containers },
      sandboxes: runtime.sandboxes,
      parents: [kubepodsCgroup(cgroupRoot), burstable, besteffort],
      machine: { bootMs: fixed.bootMs, memoryBytes: machine.memoryBytes, network, filesystem },
      filesystems: await measureLayers(runtime.containers),
      podCgroup: (pod) => podCgroupName(cgroupRoot, pod),
    };
    const cgroups = await this.#readCgroups(cgroupNames(known));
    const rows = usageRows({ ...known, cgroups });
    return cadvisorMetrics({
      ...{ nowMs: clock.nowMs(), rows, machine, cpus: fixed.cpus },
      devices: await this.#readDevices(cgroups),
      isIncomplete: runtime.isIncomplete,
    });
  }

  async #readRuntime(): Promise<{
    readonly containers: readonly ContainerStats[];
    readonly sandboxes: readonly SandboxUsage[];
    readonly isIncomplete: boolean;
  }> {
    const { runtime } = this.#options;
    const filter = { state: { state: SANDBOX_STATE.READY } };
    try {
      const [{ stats }, { items }] = await Promise.all([
        runtime.listContainerStats({}),
        runtime.listPodSandbox({ filter }),
      ]);
      const sandboxes = await Promise.all(items.map((one) => this.#readSandbox(one)));
      const ids = new Set(items.map(({ id }) => id));
      for (const id of this.#sandboxes.keys()) if (!ids.has(id)) this.#sandboxes.delete(id);
      return { containers: stats, sandboxes, isIncomplete: false };
    } catch {
      return { containers: [], sandboxes: [], isIncomplete: true };
    }
  }

  async #readSandbox({ id, labels, createdAt }: PodSandbox): Promise<SandboxUsage> {
    const { pid, image } = await this.#sandboxInfo(id);
    return {
      ...{ id, image, labels, createdMs: Number(createdAt / 1_000_000n) },
      network: pid === undefined ? [] : await readNetworkUsage(pid, this.#read),
    };
  }

  /** Asked once for each sandbox: neither its first process nor its image ever change. */
  async #sandboxInfo(id: string): Promise<SandboxInfo> {
    const known = this.#sandboxes.get(id);
    if (known !== undefined) return known;
    const answer = await this.#options.runtime
      .podSandboxStatus({ podSandboxId: id, verbose: true })
      .catch(() => undefined); // it has just gone
    const info = parseSandboxInfo(answer?.info ?? {});
    if (info.pid !== undefined) this.#sandboxes.set(id, info);
    return info;
  }

  async #readCgroups(names: readonly string[]): Promise<ReadonlyMap<string, CgroupStats>> {
    const { cgroupVersion } = this.#options;
    const entries = names.map(
      async (name) => [name, await readCgroupStats(name, cgroupVersion, this.#read)] as const,
    );
    return new Map(await Promise.all(entries));
  }

  async #readDevices(
    cgroups: ReadonlyMap<string, CgroupStats>,
  ): Promise<ReadonlyMap<string, string>> {
    const used = [...cgroups.values()].flatMap(({ io = [] }) => io.map(({ device }) => device));
    const entries = [...new Set(used)].map(
      async (device) => [device, await blockDeviceName(device, this.#read)] as const,
    );
    return new Map(await Promise.all(entries));
  }
}

/** They do not change while the machine runs. */
interface FixedFacts {
  readonly bootMs: number;
  readonly cpus: CpuCounts;
}

async function readFixedFacts(
  { memoryBytes }: MachineFacts,
  read: (path: string) => Promise<string | undefined>,
): Promise<FixedFacts> {
  const [stat = "", { cpus }] = await Promise.all([
    read("/proc/stat"),
    readMachineLayout(memoryBytes, parseCpuSet),
  ]);
  return {
    bootMs: Number(/^btime (\d+)$/m.exec(stat)?.[1] ?? 0) * 1000,
    cpus: {
      physicalCores: new Set(cpus.map(({ socket, siblings }) => `${socket}/${siblings}`)).size,
      sockets: new Set(cpus.map(({ socket }) => socket)).size,
    },
  };
}

/** The file systems that writable layers lie in, by mount point. */
async function measureLayers(
  containers: readonly ContainerStats[],
): Promise<ReadonlyMap<string, MeasuredFilesystem>> {
  const points = containers.flatMap(({ writableLayer }) => writableLayer?.fsId?.mountpoint || []);
  const entries = [...new Set(points)].map(async (point) => {
    const measured = await measureFilesystem(point).catch(() => undefined);
    return measured === undefined ? [] : [[point, measured] as const];
  });
  return new Map((await Promise.all(entries)).flat());
}

async function measureFilesystem(path: string): Promise<MeasuredFilesystem> {
  const [space, mounts] = await Promise.all([filesystemSpace(path), listMounts()]);
  const above = mounts.filter(({ mountPoint }) =>
    `${path}/`.startsWith(mountPoint.endsWith("/") ? mountPoint : `${mountPoint}/`),
  );
  // The deepest counts, and of two at the same place the later one.
  const mount = above.reduce(
    (best, one) => (one.mountPoint.length >= best.mountPoint.length ? one : best),
    { mountPoint: "", source: "" },
  );
  return { space, device: mount.source };
}
