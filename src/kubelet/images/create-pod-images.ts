/** The images of pods, as the configuration asks for them. */
import type { CriClient } from "#kubelet/cri/cri-client.ts";
import type { VerificationPolicy } from "#kubelet/decide/pull-verification.ts";
import type { KubeletConfig } from "#kubelet/kubelet-config.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";
import { type ImportImage, withBuiltInImages } from "./built-in-images.ts";
import { CredentialProviders, readCredentialProviders } from "./credential-providers.ts";
import { PodImages, type PodImagesOptions } from "./pod-images.ts";
import { PullRecords } from "./pull-records.ts";
import { PullSlots } from "./pull-slots.ts";

export interface CreatePodImagesOptions
  extends Pick<PodImagesOptions, "secret" | "onPulled" | "onPullTime"> {
  readonly config: KubeletConfig;
  readonly cri: CriClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly records: PullRecords;
  readonly builtInImages: ReadonlyMap<string, ImportImage>;
}

export function createPullRecords(
  config: KubeletConfig,
  clock: Clock,
  logger: Logger,
): PullRecords {
  const { rootDir: root, preloadedImagesAllowlist: allowlist } = config;
  const policy = config.imagePullVerificationPolicy as VerificationPolicy;
  return new PullRecords({ root, policy, allowlist, clock, logger });
}

/** Throws if the configuration of credential providers cannot be used. */
export async function createPodImages(options: CreatePodImagesOptions): Promise<PodImages> {
  const { config, cri, clock, records, builtInImages } = options;
  await records.load(async () => (await cri.images.listImages({})).images);
  const providers = await credentialProviders(options);
  return new PodImages({
    ...{ images: withBuiltInImages(cri.images, builtInImages), clock, records },
    slots: new PullSlots(pullsAtATime(config)),
    secret: options.secret,
    ...(options.onPulled === undefined ? {} : { onPulled: options.onPulled }),
    ...(options.onPullTime === undefined ? {} : { onPullTime: options.onPullTime }),
    ...(providers === undefined
      ? {}
      : { provided: (image: string) => providers.credentialsFor(image) }),
  });
}

function pullsAtATime({ serializeImagePulls, maxParallelImagePulls: most }: KubeletConfig): number {
  const isSerial = serializeImagePulls ?? (most === undefined || most < 2);
  return isSerial ? 1 : (most ?? Number.POSITIVE_INFINITY);
}

async function credentialProviders({
  config,
  clock,
  logger,
}: CreatePodImagesOptions): Promise<CredentialProviders | undefined> {
  const { credentialProviderConfig: file, credentialProviderFolder: folder } = config;
  if (file === "") return undefined;
  const providers = await readCredentialProviders(file);
  return new CredentialProviders({ providers, folder, clock, logger });
}
