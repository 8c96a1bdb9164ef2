/**
 * The image of a container or of an image volume, by its pull policy: present, pulled, or the reason
 * why there is none. Pulls that fail are repeated after 10 s, doubled up to 5 minutes; credentials
 * come from the pod's imagePullSecrets and from credential provider plug-ins. An image that is
 * present is for pods that have credentials for it (PullRecords).
 */
import type { Pod, Secret } from "#api/generated/core.v1.ts";
import { formatDuration } from "#api/meta/duration.ts";
import type { ImageService } from "#kubelet/cri/cri-client.ts";
import type { AuthConfig, CriImage } from "#kubelet/cri/image-methods.ts";
import type { PodSandboxConfig } from "#kubelet/cri/sandbox-messages.ts";
import { type BackoffEntry, decideBackoff } from "#kubelet/decide/crash-backoff.ts";
import { isImageName, withTag } from "#kubelet/decide/inputs/image-name.ts";
import type { ImageUser } from "#kubelet/runtime/security-context.ts";
import { messageOf } from "#lib/caught.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { PullRecords } from "./pull-records.ts";
import { credentialsFor, type RegistryCredential } from "./pull-secrets.ts";
import type { PullSlots } from "./pull-slots.ts";

const FAILURES_MAX = 1_000;
/** Large images over slow lines take long; the runtime itself watches for progress. */
const PULL_TIMEOUT_MS = 3_600_000;

type Note = (type: "Normal" | "Warning", reason: string, message: string) => void;

export interface ImageRequest {
  readonly pod: Pod;
  /** As the pod names it. */
  readonly image: string;
  readonly pullPolicy: string | undefined;
  readonly sandboxConfig: PodSandboxConfig;
  readonly signal: AbortSignal;
  /** Asked for already, by `find`. */
  readonly found?: FoundImage | undefined;
  /** An event about the pull. */
  readonly note: Note;
}

/** What the runtime has under a name that passes for an image; undefined if it need not be asked. */
export type FoundImage = Promise<CriImage | undefined>;

export type ImageOutcome =
  | { readonly ok: true; readonly ref: string; readonly user: ImageUser }
  /** Shown as the reason of the container's waiting. */
  | {
      readonly ok: false;
      readonly reason: string;
      readonly message: string;
      /** By the clock's `elapsedMs`. */
      readonly retryAtMs?: number | undefined;
    };

export interface PodImagesOptions {
  readonly images: Pick<ImageService, "imageStatus" | "pullImage">;
  readonly clock: Clock;
  readonly records: Pick<PullRecords, "mustPull" | "begin" | "succeed" | "fail">;
  readonly slots: PullSlots;
  /** Undefined if there is no such secret. */
  secret(namespace: string, name: string): Promise<Secret | undefined>;
  /** Asks credential provider plug-ins. */
  provided?(image: string): Promise<readonly AuthConfig[]>;
  onPulled?(seconds: number, bytes: number): void;
  /** A pull for this pod has ended, well or not; the times are the clock's `elapsedMs`. */
  onPullTime?(podUid: string, startMs: number, endMs: number): void;
}

interface Failure {
  readonly entry: BackoffEntry;
  readonly failedMs: number;
  readonly reason: string;
  readonly why: string;
}

interface PulledImage {
  readonly ref: string;
  readonly image: CriImage | undefined;
  /** That it was pulled with. */
  readonly secret: RegistryCredential["secret"];
  readonly tookMs: number;
}

export class PodImages {
  readonly #options: PodImagesOptions;
  /** By pod and image. */
  readonly #failures = new Map<string, Failure>();

  constructor(options: PodImagesOptions) {
    this.#options = options;
  }

  /** Begins to look for an image, for `ensure`. */
  find(
    { image, pullPolicy }: Pick<ImageRequest, "image" | "pullPolicy">,
    signal: AbortSignal,
  ): FoundImage | undefined {
    if (pullPolicy === "Always" || !isImageName(image)) return undefined;
    const found = this.#options.images.imageStatus(
      { image: { image: withTag(image) } },
      { signal },
    );
    const answer = found.then((status) => status.image);
    answer.catch(() => undefined); // the caller that awaits it handles the error
    return answer;
  }

  async ensure(request: ImageRequest): Promise<ImageOutcome> {
    const { image: given, pullPolicy = "IfNotPresent", signal, note } = request;
    const { records } = this.#options;
    if (!isImageName(given)) {
      const message = `Failed to apply default image tag "${given}": couldn't parse image name "${given}": invalid reference format`;
      note("Warning", "InspectFailed", message);
      return { ok: false, reason: "InvalidImageName", message };
    }
    const image = withTag(given);
    // An image that was not there may have come since, for another container.
    const present = (await request.found) ?? (await this.find(request, signal));
    const credentials = once(() => this.#credentials(request, image));
    if (present !== undefined) {
      const secrets = async () => (await credentials()).flatMap(({ secret }) => secret ?? []);
      if (!(await records.mustPull(given, present.id, secrets))) {
        const message = `Container image "${given}" already present on machine and can be accessed by the pod`;
        note("Normal", "Pulled", message);
        return { ok: true, ref: present.id, user: userOf(present) };
      }
    }
    if (pullPolicy === "Never") {
      const message = `Container image "${given}" is not present with pull policy of Never`;
      note("Warning", "ErrImageNeverPull", message);
      return { ok: false, reason: "ErrImageNeverPull", message };
    }
    return this.#pull(request, image, credentials);
  }

  async #pull(
    request: ImageRequest,
    image: string,
    credentials: () => Promise<readonly RegistryCredential[]>,
  ): Promise<ImageOutcome> {
    const { pod, image: given, signal, note } = request;
    const { clock, records } = this.#options;
    const id = `${pod.metadata.uid ?? ""}/${image}`;
    const failure = this.#failures.get(id);
    const startMs = clock.elapsedMs();
    const decision = decideBackoff(failure?.entry, failure?.failedMs ?? startMs, startMs);
    if (decision.wait) {
      const message = `Back-off pulling image "${given}"`;
      note("Normal", "BackOff", message);
      return {
        ...{ ok: false, reason: "ImagePullBackOff", retryAtMs: decision.untilMs },
        message: `${message}: ${failure?.reason ?? ""}: ${failure?.why ?? ""}`,
      };
    }
    note("Normal", "Pulling", `Pulling image "${given}"`);
    await records.begin(given);
    try {
      const pulled = await this.#pullWithCredentials(request, image, await credentials());
      await records.succeed(given, pulled.ref, pulled.secret);
      this.#failures.delete(id);
      const waitedMs = clock.elapsedMs() - startMs;
      const size = pulled.image?.size ?? 0;
      note(
        "Normal",
        "Pulled",
        `Successfully pulled image "${given}" in ${seconds(pulled.tookMs)} (${seconds(waitedMs)} including waiting). Image size: ${size} bytes.`,
      );
      this.#options.onPulled?.(waitedMs / 1000, size);
      const user = pulled.image === undefined ? {} : userOf(pulled.image);
      return { ok: true, ref: pulled.ref, user };
    } catch (error) {
      await records.fail(given).catch(() => undefined);
      if (signal.aborted) throw error;
      note("Warning", "Failed", `Failed to pull image "${given}": ${messageOf(error)}`);
      const { reason, message } = pullError(given, messageOf(error));
      const entry = decision.next;
      this.#remember(id, { entry, failedMs: clock.elapsedMs(), reason, why: message });
      return { ok: false, reason, message };
    } finally {
      this.#options.onPullTime?.(pod.metadata.uid ?? "", startMs, clock.elapsedMs());
    }
  }

  /** Each credential that fits is tried; without any, the pull is anonymous. */
  async #pullWithCredentials(
    { sandboxConfig, signal }: ImageRequest,
    image: string,
    credentials: readonly RegistryCredential[],
  ): Promise<PulledImage> {
    const { images, slots, clock } = this.#options;
    const options = { signal, timeoutMs: PULL_TIMEOUT_MS };
    using _slot = await slots.enter(signal);
    const startMs = clock.elapsedMs();
    const attempts = credentials.length === 0 ? [undefined] : credentials;
    let last: unknown;
    for (const credential of attempts) {
      try {
        const request = {
          image: { image },
          sandboxConfig,
          ...(credential === undefined ? {} : { auth: credential.auth }),
        };
        const ref = (await images.pullImage(request, options)).imageRef;
        const found = (await images.imageStatus({ image: { image } }, { signal })).image;
        const tookMs = clock.elapsedMs() - startMs;
        return { ref, image: found, secret: credential?.secret, tookMs };
      } catch (error) {
        last = error;
      }
    }
    throw last;
  }

  async #credentials({ pod }: ImageRequest, image: string): Promise<readonly RegistryCredential[]> {
    const { secret } = this.#options;
    const names = (pod.spec.imagePullSecrets ?? []).map(({ name }) => name ?? "");
    const found = await Promise.all(
      names.map((name) => secret(pod.metadata.namespace ?? "", name)),
    );
    const secrets = found.filter((one) => one !== undefined);
    const provided = (await this.#options.provided?.(image)) ?? [];
    return [...credentialsFor(image, secrets), ...provided.map((auth) => ({ auth }))];
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

/** Failures that runtimes name by the beginning of their message have a reason of their own. */
const NAMED_ERRORS = [
  ["RegistryUnavailable", "the registry is unavailable"],
  ["SignatureValidationFailed", "the signature validation failed"],
] as const;

function pullError(image: string, why: string): { reason: string; message: string } {
  for (const [reason, because] of NAMED_ERRORS) {
    if (!why.startsWith(reason)) continue;
    const rest = why.slice(reason.length);
    return { reason, message: `image pull failed for ${image} because ${because}${rest}` };
  }
  return { reason: "ErrImagePull", message: why };
}

/** `1.234s`, as Go prints a duration that was cut to milliseconds. */
function seconds(ms: number): string {
  const whole = Math.trunc(ms);
  return whole < 1000 ? `${whole}ms` : formatDuration(BigInt(whole) * 1_000_000n);
}

function once<T>(read: () => Promise<T>): () => Promise<T> {
  let answer: Promise<T> | undefined;
  return () => {
    answer ??= read();
    return answer;
  };
}
