/**
 * The image of a container, by its pull policy: present, pulled, or the reason why there is none.
 * Pulls that fail are repeated after 10 s, doubled up to 5 minutes; credentials come from the pod's
 * imagePullSecrets and from credential provider plug-ins.
 */
import type { Container, Pod, Secret } from "#api/generated/core.v1.ts";
import type { ImageService } from "#kubelet/cri/cri-client.ts";
import type { AuthConfig, CriImage } from "#kubelet/cri/image-methods.ts";
import type { PodSandboxConfig } from "#kubelet/cri/sandbox-messages.ts";
import { type BackoffEntry, decideBackoff } from "#kubelet/decide/crash-backoff.ts";
import { isImageName, withTag } from "#kubelet/decide/inputs/image-name.ts";
import type { PodEvents } from "#kubelet/pods/pod-events.ts";
import type { ImageUser } from "#kubelet/runtime/security-context.ts";
import { messageOf } from "#lib/caught.ts";
import type { Clock } from "#lib/time/clock.ts";
import { credentialsFor } from "./pull-secrets.ts";

const FAILURES_MAX = 1_000;
/** Large images over slow lines take long; the runtime itself watches for progress. */
const PULL_TIMEOUT_MS = 3_600_000;

export interface ImageRequest {
  readonly pod: Pod;
  readonly container: Container;
  readonly sandboxConfig: PodSandboxConfig;
  readonly signal: AbortSignal;
}

export type ImageOutcome =
  | { readonly ok: true; readonly ref: string; readonly user: ImageUser }
  /** Shown as the reason of the container's waiting. */
  | {
      readonly ok: false;
      readonly reason: string;
      readonly message: string;
      readonly retryAtMs?: number | undefined;
    };

export interface PodImagesOptions {
  readonly images: Pick<ImageService, "imageStatus" | "pullImage">;
  readonly events: PodEvents;
  readonly clock: Clock;
  /** Undefined if there is no such secret. */
  secret(namespace: string, name: string): Promise<Secret | undefined>;
  /** Asks credential provider plug-ins. */
  provided?(image: string): Promise<readonly AuthConfig[]>;
}

interface Failure {
  readonly entry: BackoffEntry;
  readonly failedMs: number;
  readonly why: string;
}

export class PodImages {
  readonly #options: PodImagesOptions;
  /** By pod and image. */
  readonly #failures = new Map<string, Failure>();

  constructor(options: PodImagesOptions) {
    this.#options = options;
  }

  async ensure(request: ImageRequest): Promise<ImageOutcome> {
    const { pod, container, signal } = request;
    const { images, events } = this.#options;
    const given = container.image ?? "";
    const note = (type: "Normal" | "Warning", reason: string, message: string): void =>
      events.container(pod, container.name, type, reason, message);
    if (!isImageName(given)) {
      const message = `Failed to apply default image tag "${given}": couldn't parse image name "${given}": invalid reference format`;
      note("Warning", "InspectFailed", message);
      note("Warning", "Failed", "Error: InvalidImageName");
      return { ok: false, reason: "InvalidImageName", message };
    }
    const image = withTag(given);
    const { imagePullPolicy = "IfNotPresent" } = container;
    const present = (await images.imageStatus({ image: { image } }, { signal })).image;
    if (present !== undefined && imagePullPolicy !== "Always") {
      const message = `Container image "${given}" already present on machine and can be accessed by the pod`;
      note("Normal", "Pulled", message);
      return { ok: true, ref: present.id, user: userOf(present) };
    }
    if (imagePullPolicy === "Never") {
      const message = `Container image "${given}" is not present with pull policy of Never`;
      note("Warning", "ErrImageNeverPull", message);
      note("Warning", "Failed", "Error: ErrImageNeverPull");
      return { ok: false, reason: "ErrImageNeverPull", message };
    }
    return this.#pull(request, image, note);
  }

  async #pull(
    request: ImageRequest,
    image: string,
    note: (type: "Normal" | "Warning", reason: string, message: string) => void,
  ): Promise<ImageOutcome> {
    const { pod, container, signal } = request;
    const { images, clock } = this.#options;
    const id = `${pod.metadata.uid ?? ""}/${image}`;
    const failure = this.#failures.get(id);
    const startMs = clock.nowMs();
    const decision = decideBackoff(failure?.entry, failure?.failedMs ?? startMs, startMs);
    if (decision.wait) {
      note("Normal", "BackOff", `Back-off pulling image "${container.image}"`);
      note("Warning", "Failed", "Error: ImagePullBackOff");
      const message = `Back-off pulling image "${container.image}": ErrImagePull: ${failure?.why ?? ""}`;
      return { ok: false, reason: "ImagePullBackOff", message, retryAtMs: decision.untilMs };
    }
    note("Normal", "Pulling", `Pulling image "${container.image}"`);
    try {
      const ref = await this.#pullWithCredentials(request, image);
      this.#failures.delete(id);
      const pulled = (await images.imageStatus({ image: { image } }, { signal })).image;
      const seconds = ((clock.nowMs() - startMs) / 1000).toFixed(3);
      const size = pulled?.size ?? 0;
      note(
        "Normal",
        "Pulled",
        `Successfully pulled image "${container.image}" in ${seconds}s (${seconds}s including waiting). Image size: ${size} bytes.`,
      );
      return { ok: true, ref, user: pulled === undefined ? {} : userOf(pulled) };
    } catch (error) {
      if (signal.aborted) throw error;
      const why = messageOf(error);
      this.#remember(id, { entry: decision.next, failedMs: clock.nowMs(), why });
      note("Warning", "Failed", `Failed to pull image "${container.image}": ${why}`);
      note("Warning", "Failed", "Error: ErrImagePull");
      return { ok: false, reason: "ErrImagePull", message: why };
    }
  }

  /** Each credential that fits is tried; without any, the pull is anonymous. */
  async #pullWithCredentials(
    { pod, sandboxConfig, signal }: ImageRequest,
    image: string,
  ): Promise<string> {
    const { images, secret } = this.#options;
    const names = (pod.spec.imagePullSecrets ?? []).map(({ name }) => name ?? "");
    const found = await Promise.all(
      names.map((name) => secret(pod.metadata.namespace ?? "", name)),
    );
    const secrets = found.filter((one) => one !== undefined);
    const provided = (await this.#options.provided?.(image)) ?? [];
    const credentials = [...credentialsFor(image, secrets), ...provided];
    const options = { signal, timeoutMs: PULL_TIMEOUT_MS };
    const attempts = credentials.length === 0 ? [undefined] : credentials;
    let last: unknown;
    for (const auth of attempts) {
      try {
        const request = {
          image: { image },
          sandboxConfig,
          ...(auth === undefined ? {} : { auth }),
        };
        return (await images.pullImage(request, options)).imageRef;
      } catch (error) {
        last = error;
      }
    }
    throw last;
  }

  #remember(id: string, failure: Failure): void {
    this.#failures.delete(id);
    this.#failures.set(id, failure);
    if (this.#failures.size <= FAILURES_MAX) return;
    const [oldest = ""] = this.#failures.keys();
    this.#failures.delete(oldest);
  }
}

function userOf({ uid, username }: Pick<CriImage, "uid" | "username">): ImageUser {
  if (uid !== undefined) return { uid: uid.value };
  return username === "" ? { uid: 0 } : { username };
}
