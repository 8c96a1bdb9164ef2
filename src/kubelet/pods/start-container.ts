/** Starts one container of a pod: image, configuration, creation, start, postStart. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type {
  ConfigMap,
  Container,
  EphemeralContainer,
  Pod,
  Secret,
} from "#api/generated/core.v1.ts";
import { listFolder } from "#host/files.ts";
import type { PodSandboxConfig } from "#kubelet/cri/sandbox-messages.ts";
import type { WaitingReason } from "#kubelet/decide/container-statuses.ts";
import { containerEnv, type EnvSources } from "#kubelet/decide/inputs/container-env.ts";
import { podHostname } from "#kubelet/decide/inputs/pod-hostname.ts";
import { type ContainerRun, latestRun, type PodRuntime } from "#kubelet/decide/pod-runtime.ts";
import type { FoundImage } from "#kubelet/images/pod-images.ts";
import { objectRefs } from "#kubelet/objects/object-refs.ts";
import { containerConfig, type Placement } from "#kubelet/runtime/container-config.ts";
import { whyNotNonRoot } from "#kubelet/runtime/security-context.ts";
import type { MountedVolume } from "#kubelet/volumes/volume-plugin.ts";
import { messageOf } from "#lib/caught.ts";
import { blockDevices } from "./block-devices.ts";
import { containerMounts, MountError } from "./container-mounts.ts";
import { type ImageVolumes, imagesOf } from "./image-volumes.ts";
import { runHook } from "./lifecycle-hooks.ts";
import { pluginDevices } from "./plugin-devices.ts";
import { podLogFolder } from "./pod-paths.ts";
import { type PodServices, placeOf } from "./pod-services.ts";
import { graceOf, stopContainer } from "./stop-containers.ts";

export interface StartRequest {
  readonly pod: Pod;
  readonly container: Container;
  readonly runtime: PodRuntime;
  readonly sandboxId: string;
  readonly sandboxConfig: PodSandboxConfig;
  readonly podIps: readonly string[];
  readonly volumes: ReadonlyMap<string, MountedVolume>;
  readonly imageVolumes: ImageVolumes;
  readonly foundImage: FoundImage | undefined;
}

/** Undefined when it runs; otherwise why not. */
export async function startContainer(
  request: StartRequest,
  services: PodServices,
  signal: AbortSignal,
): Promise<WaitingReason | undefined> {
  const { pod, container, sandboxConfig } = request;
  const { events, images } = services;
  const noteFailure = (message: string): void =>
    events.container(pod, container.name, "Warning", "Failed", `Error: ${message}`);
  const fail = (reason: string, message: string): WaitingReason => {
    noteFailure(message);
    return { reason, message };
  };
  const volumeImages = imagesOf(container, request.imageVolumes);
  for (const { outcome } of volumeImages) if (!outcome.ok) noteFailure(outcome.reason);
  const failed = volumeImages.findLast(({ outcome }) => !outcome.ok)?.outcome;
  if (failed?.ok === false) return failed;
  const image = await images.ensure({
    ...{ pod, sandboxConfig, signal, found: request.foundImage },
    ...{ image: container.image ?? "", pullPolicy: container.imagePullPolicy },
    note: (type, reason, message) => events.container(pod, container.name, type, reason, message),
  });
  if (!image.ok) {
    noteFailure(image.reason);
    return image;
  }
  const notAllowed = whyNotNonRoot(pod, container, image.user);
  if (notAllowed !== undefined) return fail("CreateContainerConfigError", notAllowed);

  const env = containerEnv(
    pod,
    container,
    await envSources(pod, services),
    placeOf(services.node, request.podIps),
  );
  if (!env.ok) return fail("CreateContainerConfigError", env.message);
  const restartCount = await nextRestartCount(request, services);
  try {
    const given = pluginDevices(await deviceAnswers(request, services));
    const mounts = await containerMounts({
      ...{ pod, container, env: env.env, podIps: request.podIps, volumes: request.volumes },
      images: new Map(volumeImages.flatMap(({ name, spec }) => (spec ? [[name, spec]] : []))),
      canMountRecursiveReadOnly: () => services.node.canMountRecursiveReadOnly(pod),
      hostname: podHostname(pod, services.node.clusterDns.domain),
      paths: services.paths,
      runId: services.random.uuid().slice(0, 8),
    });
    const config = containerConfig({
      ...{ pod, container, restartCount },
      env: new Map([...env.env, ...given.env]),
      mounts: [...mounts, ...given.mounts],
      devices: [...blockDevices(container, request.volumes), ...given.devices],
      annotations: given.annotations,
      cdiDevices: [...given.cdiDevices, ...services.dra.cdiDevices(pod, container)],
      imageRef: image.ref,
      imageUser: image.user,
      targetId: targetIdOf(container, request.runtime),
      userNamespace: sandboxConfig.linux?.securityContext?.namespaceOptions?.usernsOptions,
      memoryCapacityBytes: services.node.memoryCapacityBytes,
      ...{ cfs: services.node.cfs, swap: services.node.swap },
      singleProcessOomKill: services.node.singleProcessOomKill,
      placement: placementOf(pod, container.name, services),
      cgroupVersion: services.cgroups.version,
      seccompRoot: join(services.paths.root, "seccomp"),
      seccompDefault: services.node.seccompDefault,
    });
    await mkdir(join(podLogFolder(services.paths, pod), container.name), { recursive: true });
    return await createAndStart(request, config, services, signal);
  } catch (error) {
    if (error instanceof MountError) return fail("CreateContainerConfigError", error.message);
    throw error;
  }
}

function placementOf(pod: Pod, name: string, { resources }: PodServices): Placement {
  const uid = pod.metadata.uid ?? "";
  return {
    cpus: resources.cpus.cpusetOf(uid, name),
    mems: resources.memory.memsOf(uid, name),
    hasOwnCpus: resources.cpus.isExclusive(uid, name),
  };
}

async function deviceAnswers({ pod, container }: StartRequest, { devices }: PodServices) {
  try {
    return await devices.start(pod.metadata.uid ?? "", container.name);
  } catch (error) {
    throw new MountError(
      `device plugin PreStartContainer rpc failed with err: ${messageOf(error)}`,
    );
  }
}

async function createAndStart(
  request: StartRequest,
  config: ReturnType<typeof containerConfig>,
  services: PodServices,
  signal: AbortSignal,
): Promise<WaitingReason | undefined> {
  const { pod, container, sandboxId, sandboxConfig } = request;
  const { runtime, events, index } = services;
  const note = (type: "Normal" | "Warning", reason: string, message: string): void =>
    events.container(pod, container.name, type, reason, message);
  let containerId: string;
  try {
    const created = await runtime.createContainer({
      podSandboxId: sandboxId,
      config,
      sandboxConfig,
    });
    containerId = created.containerId;
  } catch (error) {
    index.distrust(pod.metadata.uid ?? "");
    note("Warning", "Failed", `Error: ${messageOf(error)}`);
    return { reason: "CreateContainerError", message: messageOf(error) };
  }
  index.addContainer(pod.metadata.uid ?? "", containerId, sandboxId); // before it can end
  services.resources.memory.onStart(pod, container.name);
  services.allocations.actuate(pod.metadata.uid ?? "", container.name, container.resources ?? {});
  note("Normal", "Created", "Container created");
  try {
    await runtime.startContainer({ containerId });
  } catch (error) {
    note("Warning", "Failed", `Error: ${messageOf(error)}`);
    return { reason: "RunContainerError", message: messageOf(error) };
  }
  note("Normal", "Started", "Container started");
  return runPostStart(request, containerId, services, signal);
}

async function runPostStart(
  { pod, container, podIps }: StartRequest,
  containerId: string,
  services: PodServices,
  signal: AbortSignal,
): Promise<WaitingReason | undefined> {
  const handler = container.lifecycle?.postStart;
  if (handler === undefined) return undefined;
  const podIp = podIps[0];
  const hook = { pod, container, containerId, podIp, handler };
  const failure = await runHook(hook, services, signal);
  if (failure === undefined) return undefined;
  const { events, logger } = services;
  logger.info("postStart hook failed", { pod: pod.metadata.name, failure });
  events.container(pod, container.name, "Warning", "FailedPostStartHook", "PostStartHook failed");
  const graceSeconds = graceOf(pod, container);
  const run = { id: containerId, name: container.name } as ContainerRun;
  const message = "FailedPostStartHook";
  await stopContainer(
    { pod, run, container, graceSeconds, message, podIp, isRepeat: false },
    services,
    signal,
  );
  return { reason: "PostStartHookError", message: failure };
}

/** ConfigMaps and Secrets are read before, so that composing the environment waits for nothing. */
async function envSources(pod: Pod, { objects, services }: PodServices): Promise<EnvSources> {
  const configMaps = new Map<string, ConfigMap | undefined>();
  const secrets = new Map<string, Secret | undefined>();
  await Promise.all(
    objectRefs(pod).map(async ({ sort, namespace, name }) => {
      if (sort === "ConfigMap") configMaps.set(name, await objects.configMap(namespace, name));
      else secrets.set(name, await objects.secret(namespace, name));
    }),
  );
  return {
    services: services(),
    configMap: (name) => configMaps.get(name),
    secret: (name) => secrets.get(name),
  };
}

/** One more than the run before; after a loss of the runtime's state, one more than the log files show. */
async function nextRestartCount(
  { pod, container, runtime }: StartRequest,
  { paths }: PodServices,
): Promise<number> {
  const before = latestRun(runtime, container.name);
  if (before !== undefined) return before.restartCount + 1;
  const names = await listFolder(join(podLogFolder(paths, pod), container.name));
  const counts = names.map((name) => Number(/^(\d+)\.log/.exec(name)?.[1] ?? -1));
  return Math.max(-1, ...counts) + 1;
}

function targetIdOf(
  container: Container & Pick<EphemeralContainer, "targetContainerName">,
  runtime: PodRuntime,
): string | undefined {
  const { targetContainerName } = container;
  return targetContainerName ? latestRun(runtime, targetContainerName)?.id : undefined;
}
