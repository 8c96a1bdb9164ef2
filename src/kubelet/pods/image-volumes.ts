/**
 * Image volumes: images whose files are mounted into containers. The runtime mounts them; the
 * kubelet sees to it that the images are there, by the pull policies of the volumes.
 */
import type { Container, Pod } from "#api/generated/core.v1.ts";
import type { ImageSpec } from "#kubelet/cri/common-messages.ts";
import type { PodSandboxConfig } from "#kubelet/cri/sandbox-messages.ts";
import type { ImageOutcome } from "#kubelet/images/pod-images.ts";
import type { PodServices } from "./pod-services.ts";

interface ImageVolume {
  readonly outcome: ImageOutcome;
  /** What the runtime mounts; undefined if the image is not there. */
  readonly spec: ImageSpec | undefined;
}

/** By the name of the volume. */
export type ImageVolumes = ReadonlyMap<string, ImageVolume>;

/** A volume whose image cannot be had is an entry too: only containers that mount it fail. */
export async function ensureImageVolumes(
  pod: Pod,
  sandboxConfig: PodSandboxConfig,
  { images, events, node }: PodServices,
  signal: AbortSignal,
): Promise<ImageVolumes> {
  const found = new Map<string, ImageVolume>();
  for (const { name, image: source } of pod.spec.volumes ?? []) {
    if (source === undefined) continue;
    const { reference: image = "", pullPolicy } = source;
    const outcome = await images.ensure({
      ...{ pod, image, pullPolicy, sandboxConfig, signal },
      note: (type, reason, message) => events.pod(pod, type, reason, message),
    });
    const spec = outcome.ok
      ? {
          ...{ image: outcome.ref, userSpecifiedImage: image },
          runtimeHandler: await node.runtimeHandler(pod),
          annotations: pod.metadata.annotations ?? {},
        }
      : undefined;
    found.set(name, { outcome, spec });
  }
  return found;
}

/** Those that a container mounts, in the order of its mounts. */
export function imagesOf(
  { volumeMounts = [] }: Container,
  volumes: ImageVolumes,
): (ImageVolume & { readonly name: string })[] {
  return volumeMounts.flatMap(({ name }) => {
    const volume = volumes.get(name);
    return volume === undefined ? [] : [{ name, ...volume }];
  });
}
