/** The image of a container, by its pull policy: present, pulled, or the reason why there is none. */
import type { Container, Pod } from "#api/generated/core.v1.ts";
import type { ImageService } from "#kubelet/cri/cri-client.ts";
import type { PodSandboxConfig } from "#kubelet/cri/sandbox-messages.ts";
import type { PodEvents } from "#kubelet/pods/pod-events.ts";
import type { ImageUser } from "#kubelet/runtime/security-context.ts";
import { messageOf } from "#lib/caught.ts";

export interface ImageRequest {
  readonly pod: Pod;
  readonly container: Container;
  readonly sandboxConfig: PodSandboxConfig;
  readonly signal: AbortSignal;
}

export type ImageOutcome =
  | { readonly ok: true; readonly ref: string; readonly user: ImageUser }
  /** Shown as the reason of the container's waiting. */
  | { readonly ok: false; readonly reason: string; readonly message: string };

export interface PodImages {
  ensure(request: ImageRequest): Promise<ImageOutcome>;
}

export function createPodImages(images: ImageService, events: PodEvents): PodImages {
  return { ensure: (request) => ensure(images, events, request) };
}

async function ensure(
  images: ImageService,
  events: PodEvents,
  { pod, container, sandboxConfig, signal }: ImageRequest,
): Promise<ImageOutcome> {
  const image = withTag(container.image ?? "");
  const { imagePullPolicy = "IfNotPresent" } = container;
  const note = (type: "Normal" | "Warning", reason: string, message: string): void =>
    events.container(pod, container.name, type, reason, message);
  const present = (await images.imageStatus({ image: { image } }, { signal })).image;
  if (present !== undefined && imagePullPolicy !== "Always") {
    note(
      "Normal",
      "Pulled",
      `Container image "${container.image}" already present on machine and can be accessed by the pod`,
    );
    return { ok: true, ref: present.id, user: userOf(present) };
  }
  if (imagePullPolicy === "Never") {
    const message = `Container image "${container.image}" is not present with pull policy of Never`;
    note("Warning", "ErrImageNeverPull", message);
    return { ok: false, reason: "ErrImageNeverPull", message };
  }
  note("Normal", "Pulling", `Pulling image "${container.image}"`);
  try {
    const { imageRef } = await images.pullImage({ image: { image }, sandboxConfig }, { signal });
    const pulled = (await images.imageStatus({ image: { image } }, { signal })).image;
    note("Normal", "Pulled", `Successfully pulled image "${container.image}"`);
    return { ok: true, ref: imageRef, user: pulled === undefined ? {} : userOf(pulled) };
  } catch (error) {
    if (signal.aborted) throw error;
    const message = `Failed to pull image "${container.image}": ${messageOf(error)}`;
    note("Warning", "Failed", message);
    note("Warning", "Failed", "Error: ErrImagePull");
    return { ok: false, reason: "ErrImagePull", message: messageOf(error) };
  }
}

function userOf({
  uid,
  username,
}: {
  uid?: { value: number } | undefined;
  username: string;
}): ImageUser {
  if (uid !== undefined) return { uid: uid.value };
  return username === "" ? { uid: 0 } : { username };
}

/** `latest` unless the name says more. */
function withTag(image: string): string {
  const last = image.slice(image.lastIndexOf("/") + 1);
  return last.includes(":") || last.includes("@") ? image : `${image}:latest`;
}
