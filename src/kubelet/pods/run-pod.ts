/**
 * Brings a pod that should run one step further: volumes, cgroup, sandbox, containers. Answers when
 * to look again by the clock's `elapsedMs`, whatever happens until then.
 */
import { mkdir } from "node:fs/promises";
import type { Container, Pod } from "#api/generated/core.v1.ts";
import type { UserNamespace } from "#kubelet/cri/common-messages.ts";
import type { PodSandboxConfig } from "#kubelet/cri/sandbox-messages.ts";
import type { WaitingReason } from "#kubelet/decide/container-statuses.ts";
import { type BackoffEntry, crashLimits, decideBackoff } from "#kubelet/decide/crash-backoff.ts";
import { decidePodDns } from "#kubelet/decide/inputs/pod-dns.ts";
import { isKernelNameTooLong, podHostname } from "#kubelet/decide/inputs/pod-hostname.ts";
import { decidePodActions, type PodActions } from "#kubelet/decide/pod-actions.ts";
import { type ContainerRun, latestRun, type PodRuntime } from "#kubelet/decide/pod-runtime.ts";
import type { FoundImage } from "#kubelet/images/pod-images.ts";
import type { PodResize } from "#kubelet/resize/pod-resize.ts";
import type { ContainerCpusets } from "#kubelet/resources/container-cpusets.ts";
import { podLimitsOf } from "#kubelet/resources/pod-limits.ts";
import { sandboxConfig } from "#kubelet/runtime/sandbox-config.ts";
import { type MountedVolume, VolumeError } from "#kubelet/volumes/volume-plugin.ts";
import { messageOf } from "#lib/caught.ts";
import { ensureImageVolumes, type ImageVolumes, imagesOf } from "./image-volumes.ts";
import { podText } from "./lifecycle-hooks.ts";
import { podFolder, podLogFolder } from "./pod-paths.ts";
import { type PodServices, placeOf } from "./pod-services.ts";
import type { RunEnds } from "./run-ends.ts";
import { startContainer } from "./start-container.ts";
import { StepError } from "./step-error.ts";
import { graceOf, stopContainer, stopContainers } from "./stop-containers.ts";

/** Dead runs of a container that are kept, for their logs. */
const DEAD_RUNS_KEPT = 1;
/** A sandbox may take long where many start at once. */
const SANDBOX_TIMEOUT_MS = 240_000;
/** Containers that cannot be started for another reason than crashing are tried again so often. */
const START_RETRY_MS = 2_000;

export interface PodRun {
  readonly pod: Pod;
  readonly runtime: PodRuntime;
  readonly waiting: Map<string, WaitingReason>;
  readonly crashes: Map<string, BackoffEntry>;
  readonly ends: RunEnds;
  /** When a container that could not be started is tried again, by the clock's `elapsedMs`. */
  readonly retryAtMs: Map<string, number>;
  readonly resize: PodResize;
  readonly cpusets: ContainerCpusets;
}

export async function runPod(
  run: PodRun,
  services: PodServices,
  signal: AbortSignal,
  again: () => void,
): Promise<number | undefined> {
  const { pod, runtime } = run;
  const { probes } = services;
  const actions = decidePodActions(pod, runtime, probes, run.resize.restarts(pod, runtime));
  const podIps = ipsOf(pod, runtime, services);
  const volumes = await setUpVolumes(pod, podIps, services);
  const refreshAtMs = Math.min(
    ...[...volumes.values()].map((one) => one.refreshAtMs ?? Number.POSITIVE_INFINITY),
  );
  const refresh = Number.isFinite(refreshAtMs) ? refreshAtMs : undefined;
  await killAsDecided(run, actions, services, signal);
  await removeDeadRuns(runtime, services);
  const resizeAtMs = actions.killPod
    ? undefined
    : min(await run.resize.carryOut(pod, runtime), await run.cpusets.apply(pod, runtime));
  if (actions.start.length === 0) {
    if (actions.kill.length > 0 || actions.killPod) again();
    return min(refresh, resizeAtMs);
  }
  const due = dueStarts(run, actions, services);
  if (due.containers.length > 0 || actions.createSandbox !== undefined) {
    await services.concurrentStarts.count(async () => {
      await prepare(pod, services);
      await prepareClaims(pod, services);
      // The runtime looks for the images while it makes the sandbox. Pulls wait for the sandbox.
      const images = new Map(
        due.containers.map((one) => [one.name, findImage(one, services, signal)]),
      );
      const sandbox = await ensureSandbox(run, actions, services);
      await startAll(run, due.containers, { ...sandbox, images }, volumes, services, signal);
    });
    again();
  }
  return min(refresh, resizeAtMs, due.wakeAtMs);
}

function ipsOf(pod: Pod, { sandboxes }: PodRuntime, { node }: PodServices): readonly string[] {
  return pod.spec.hostNetwork ? node.hostIps : (sandboxes[0]?.ips ?? []);
}

async function setUpVolumes(
  pod: Pod,
  podIps: readonly string[],
  { volumes, node }: PodServices,
): Promise<ReadonlyMap<string, MountedVolume>> {
  try {
    return await volumes.setUp(pod, placeOf(node, podIps));
  } catch (error) {
    if (error instanceof VolumeError) throw new StepError("FailedMount", error.message);
    throw error;
  }
}

async function killAsDecided(
  { pod, runtime }: PodRun,
  actions: PodActions,
  services: PodServices,
  signal: AbortSignal,
): Promise<void> {
  const podIp = ipsOf(pod, runtime, services)[0];
  if (actions.killPod) {
    const runs = runtime.runs.filter(({ state }) => state === "running");
    const isRepeat = false;
    await stopContainers({ pod, runs, podIp, isRepeat }, services, signal);
    if (runtime.sandboxes.length > 0 && actions.createSandbox !== undefined) {
      services.events.pod(
        pod,
        "Normal",
        "SandboxChanged",
        "Pod sandbox changed, it will be killed and re-created.",
      );
    }
    for (const { id } of runtime.sandboxes) {
      await services.runtime.stopPodSandbox({ podSandboxId: id });
    }
    return;
  }
  await Promise.all(
    actions.kill.map(({ run, container, reason, message }) => {
      const graceSeconds = graceOf(pod, container, reason);
      const stop = { pod, run, container, graceSeconds, message, podIp, isRepeat: false };
      return stopContainer(stop, services, signal);
    }),
  );
}

/** Of those to be started: which may be now, and when the next one may. */
function dueStarts(
  { pod, runtime, waiting, crashes, ends, retryAtMs }: PodRun,
  actions: PodActions,
  { clock, events, node }: PodServices,
): { readonly containers: readonly Container[]; readonly wakeAtMs: number | undefined } {
  const containers: Container[] = [];
  let wakeAtMs: number | undefined;
  for (const { container } of actions.start) {
    const { name } = container;
    const run = latestRun(runtime, name);
    const retryMs = retryAtMs.get(name) ?? Number.NEGATIVE_INFINITY;
    if (retryMs > clock.elapsedMs()) {
      wakeAtMs = min(wakeAtMs, retryMs);
      continue;
    }
    const wasKilled = actions.kill.some((kill) => kill.run.id === run?.id);
    if (run === undefined || (run.state !== "exited" && !wasKilled)) {
      containers.push(container);
      continue;
    }
    const nowMs = clock.elapsedMs();
    const endedMs = wasKilled ? nowMs : ends.seen(run);
    const limits = crashLimits(node.crashBackoffMaxMs);
    const decision = decideBackoff(crashes.get(name), endedMs, nowMs, limits);
    if (!decision.wait) {
      crashes.set(name, decision.next);
      containers.push(container);
      continue;
    }
    const seconds = formatDelay(decision.delayMs);
    const message = `back-off ${seconds} restarting failed container=${name} pod=${podText(pod)}`;
    if (waiting.get(name)?.message !== message) {
      waiting.set(name, { reason: "CrashLoopBackOff", message });
      const text = `Back-off restarting failed container ${name} in pod ${podText(pod)}`;
      events.container(pod, name, "Warning", "BackOff", text);
    }
    wakeAtMs = min(wakeAtMs, decision.untilMs);
  }
  return { containers, wakeAtMs };
}

/** `10s`, `1m20s`, `5m0s` */
function formatDelay(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}

async function prepare(pod: Pod, services: PodServices): Promise<void> {
  const { cgroups, node, paths } = services;
  const uid = pod.metadata.uid ?? "";
  const pidsMax = node.podPidsLimit;
  const limits = {
    ...podLimitsOf(pod, services),
    ...(pidsMax === undefined ? {} : { pidsMax }),
  };
  await Promise.all([
    cgroups.ensure(node.podCgroup(pod), limits),
    mkdir(podFolder(paths, uid), { recursive: true, mode: 0o750 }),
    mkdir(podLogFolder(paths, pod), { recursive: true }),
  ]);
}

async function prepareClaims(pod: Pod, { dra }: PodServices): Promise<void> {
  try {
    await dra.prepare(pod);
  } catch (error) {
    throw new StepError(
      "FailedPrepareDynamicResources",
      `Failed to prepare dynamic resources: prepare dynamic resources: ${messageOf(error)}`,
    );
  }
}

function findImage(
  { image = "", imagePullPolicy: pullPolicy }: Container,
  { images }: PodServices,
  signal: AbortSignal,
): FoundImage | undefined {
  return images.find({ image, pullPolicy }, signal);
}

interface Sandbox {
  readonly id: string;
  readonly ips: readonly string[];
  readonly config: PodSandboxConfig;
}

async function ensureSandbox(
  { pod, runtime }: PodRun,
  actions: PodActions,
  services: PodServices,
): Promise<Sandbox> {
  const { node, paths, events } = services;
  const kept = runtime.sandboxes[0];
  const attempt = actions.createSandbox ?? kept?.attempt ?? 0;
  const dns = decidePodDns(pod, await node.resolver(), node.clusterDns);
  for (const warning of dns.warnings) events.pod(pod, "Warning", "DNSConfigForming", warning);
  const hostname = podHostname(pod, node.clusterDns.domain);
  if (isKernelNameTooLong(hostname)) {
    throw new StepError(
      "FailedCreatePodSandBox",
      `failed to construct FQDN from pod hostname and cluster domain, FQDN ${hostname.kernelName} is too long (64 characters is the max, ${hostname.kernelName.length} characters requested)`,
    );
  }
  const config = sandboxConfig({
    ...{ pod, attempt, hostname, dns: dns.settings },
    userNamespace: await userNamespaceOf(pod, services),
    logDirectory: podLogFolder(paths, pod),
    cgroupParent: node.podCgroup(pod),
  });
  if (actions.createSandbox === undefined && kept !== undefined) {
    return { id: kept.id, ips: ipsOf(pod, runtime, services), config };
  }
  return createSandbox(pod, config, services);
}

async function userNamespaceOf(
  pod: Pod,
  { userNamespaces, node }: PodServices,
): Promise<UserNamespace> {
  try {
    return await userNamespaces.of(pod, () => node.runtimeHandler(pod));
  } catch (error) {
    const why = `Failed to create pod sandbox: ${messageOf(error)}`;
    throw new StepError("FailedCreatePodSandBox", why);
  }
}

async function createSandbox(
  pod: Pod,
  config: PodSandboxConfig,
  { runtime, node, index, clock, measured }: PodServices,
): Promise<Sandbox> {
  const problem = pod.spec.hostNetwork ? undefined : node.networkProblem();
  if (problem !== undefined) {
    throw new StepError("NetworkNotReady", `network is not ready: ${problem}`);
  }
  const isOwnUsers = pod.spec.hostUsers === false;
  if (isOwnUsers) measured.pods.userNamespacedPod(false);
  const startMs = clock.elapsedMs();
  let runtimeHandler = "";
  const measure = (isFailed: boolean): void =>
    measured.pods.sandbox(runtimeHandler, (clock.elapsedMs() - startMs) / 1000, isFailed);
  try {
    runtimeHandler = await node.runtimeHandler(pod);
    const { podSandboxId: id } = await runtime.runPodSandbox(
      { config, runtimeHandler },
      { timeoutMs: SANDBOX_TIMEOUT_MS },
    );
    measure(false);
    index.addSandbox(pod.metadata.uid ?? "", id);
    if (pod.spec.hostNetwork) return { id, ips: node.hostIps, config };
    const { status } = await runtime.podSandboxStatus({ podSandboxId: id });
    const more = status?.network?.additionalIps.map(({ ip }) => ip) ?? [];
    const ips = [status?.network?.ip ?? "", ...more].filter((ip) => ip !== "");
    return { id, ips, config };
  } catch (error) {
    measure(true);
    if (isOwnUsers) measured.pods.userNamespacedPod(true);
    const why = `Failed to create pod sandbox: ${messageOf(error)}`;
    throw new StepError("FailedCreatePodSandBox", why);
  }
}

/** In the order of the spec: a postStart hook holds the ones after it back. */
async function startAll(
  { pod, runtime, waiting, retryAtMs }: PodRun,
  containers: readonly Container[],
  sandbox: Sandbox & { readonly images: ReadonlyMap<string, FoundImage | undefined> },
  volumes: ReadonlyMap<string, MountedVolume>,
  services: PodServices,
  signal: AbortSignal,
): Promise<void> {
  const imageVolumes = await ensureImageVolumes(pod, sandbox.config, services, signal);
  for (const container of containers) {
    const request = {
      ...{ pod, container, runtime, volumes, imageVolumes, podIps: sandbox.ips },
      ...{ sandboxId: sandbox.id, sandboxConfig: sandbox.config },
      foundImage: sandbox.images.get(container.name),
    };
    const why = await startContainer(request, services, signal);
    measureStart(pod, container, imageVolumes, why, services);
    if (why === undefined) {
      waiting.delete(container.name);
      retryAtMs.delete(container.name);
    } else {
      waiting.set(container.name, why);
      const soonMs = services.clock.elapsedMs() + START_RETRY_MS;
      retryAtMs.set(container.name, why.retryAtMs ?? soonMs);
    }
    const isInit = pod.spec.initContainers?.some(({ name }) => name === container.name) ?? false;
    if (why !== undefined && isInit) break;
  }
}

function measureStart(
  { spec }: Pod,
  container: Container,
  imageVolumes: ImageVolumes,
  why: WaitingReason | undefined,
  { measured }: PodServices,
): void {
  const isIn = (list: readonly { readonly name: string }[] | null | undefined): boolean =>
    (list ?? []).some(({ name }) => name === container.name);
  const type = isIn(spec.initContainers)
    ? "init_container"
    : isIn(spec.ephemeralContainers)
      ? "ephemeral_container"
      : "container";
  measured.pods.containerStarted(type, why?.reason);
  const mounts = imagesOf(container, imageVolumes).length;
  if (mounts === 0) return;
  const isFailed = why?.message.startsWith("ImageVolumeMountFailed") ?? false;
  measured.pods.imageVolumes(mounts, isFailed ? 0 : mounts, isFailed ? mounts : 0);
}

async function removeDeadRuns(runtimeState: PodRuntime, { runtime }: PodServices): Promise<void> {
  const seen = new Map<string, number>();
  const surplus: ContainerRun[] = [];
  for (const [i, run] of runtimeState.runs.entries()) {
    const isLatest = runtimeState.runs.findIndex(({ name }) => name === run.name) === i;
    if (isLatest || run.state !== "exited") continue;
    const count = (seen.get(run.name) ?? 0) + 1;
    seen.set(run.name, count);
    if (count > DEAD_RUNS_KEPT) surplus.push(run);
  }
  for (const { id } of surplus) await runtime.removeContainer({ containerId: id });
}

function min(...times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((one) => one !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}
