/**
 * What this node's kubelets have pulled, and with which credentials: files below
 * `image_manager` of the kubelet's folder, in upstream's form.
 *
 * Promises:
 * 1. A pull is noted before it begins, so that an image whose pull a crash interrupted counts as
 *    pulled by the kubelet, and not as one that was always there.
 * 2. A record that cannot be read makes pods pull the image again; no pod is let in for it.
 */
import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { timeFromMs, timeToMs } from "#api/meta/time.ts";
import { listFolder, pathExists, readTextIfPresent, writeFileWhole } from "#host/files.ts";
import type { CriImage } from "#kubelet/cri/image-methods.ts";
import { repositoryOf } from "#kubelet/decide/inputs/image-name.ts";
import {
  type CredentialMapping,
  matchCredentials,
  mergeCredentials,
  mustVerify,
  type PullCredentials,
  type PullSecret,
  type VerificationPolicy,
} from "#kubelet/decide/pull-verification.ts";
import { KeyedTurns } from "#kubelet/plugins/keyed-turns.ts";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";

const API_VERSION = "kubelet.config.k8s.io/v1beta1";

export interface PullRecordsOptions {
  /** The kubelet's. */
  readonly root: string;
  readonly policy: VerificationPolicy;
  /** Of images that are never verified, under the policy NeverVerifyAllowlistedImages. */
  readonly allowlist: readonly string[];
  readonly clock: Clock;
  readonly logger: Logger;
}

interface PulledRecord {
  readonly kind: "ImagePulledRecord";
  readonly apiVersion: string;
  readonly lastUpdatedTime: string;
  readonly imageRef: string;
  readonly credentialMapping?: CredentialMapping;
}

export class PullRecords {
  readonly #options: PullRecordsOptions;
  /** Files of one name are written one after the other. */
  readonly #turns = new KeyedTurns();
  /** Pulls that are under way, by the image's name. */
  readonly #pulling = new Map<string, number>();

  constructor(options: PullRecordsOptions) {
    this.#options = options;
  }

  /** Pulls that a crash interrupted: of those that came to an end nothing is known but the image. */
  async load(images: () => Promise<readonly CriImage[]>): Promise<void> {
    const files = await listFolder(this.#folder("pulling"));
    const texts = await Promise.all(
      files
        .filter((name) => /^sha256-\w+$/.test(name))
        .map((name) => readTextIfPresent(join(this.#folder("pulling"), name))),
    );
    const intents = texts.map((text) => (parse(text) as { image?: string } | undefined)?.image);
    if (!intents.some((image) => image !== undefined)) return;
    for (const { id, repoTags, repoDigests } of await images()) {
      const names = [...repoTags, ...repoDigests].filter((name) => intents.includes(name));
      for (const name of names) {
        await this.#merge(name, id, undefined);
        await rm(this.#path("pulling", name), { force: true });
      }
    }
  }

  async begin(image: string): Promise<void> {
    this.#pulling.set(image, (this.#pulling.get(image) ?? 0) + 1);
    const text = `${JSON.stringify({ kind: "ImagePullIntent", apiVersion: API_VERSION, image })}\n`;
    const path = this.#path("pulling", image);
    await this.#turns.run(path, () => writeFileWhole(path, text, PRIVATE));
  }

  /** `secret`: that the image was pulled with; undefined: any pod of the node could have. */
  async succeed(image: string, imageRef: string, secret: PullSecret | undefined): Promise<void> {
    const added =
      secret === undefined ? { nodePodsAccessible: true } : { kubernetesSecrets: [secret] };
    try {
      await this.#merge(image, imageRef, added);
      await this.fail(image);
    } catch (error) {
      const why = messageOf(error);
      this.#options.logger.error("failed to write image pulled record", { imageRef, why });
    }
  }

  async fail(image: string): Promise<void> {
    const left = (this.#pulling.get(image) ?? 1) - 1;
    if (left > 0) {
      this.#pulling.set(image, left);
      return;
    }
    this.#pulling.delete(image);
    const path = this.#path("pulling", image);
    await this.#turns.run(path, async () => {
      if (!this.#pulling.has(image)) await rm(path, { force: true });
    });
  }

  /** Whether a pod that has these secrets must pull an image that is there already. */
  async mustPull(
    image: string,
    imageRef: string,
    secrets: () => Promise<readonly PullSecret[]>,
  ): Promise<boolean> {
    const { policy, allowlist, logger } = this.#options;
    if (policy === "NeverVerify") return false;
    try {
      const record = await this.#read(imageRef);
      const wasPulled =
        record !== undefined ||
        this.#pulling.has(image) ||
        (await pathExists(this.#path("pulling", image)));
      if (!mustVerify(policy, allowlist, image, wasPulled)) return false;
      const known = record?.credentialMapping?.[repositoryOf(image)];
      if (known?.nodePodsAccessible) return false;
      if (known === undefined) return true;
      const match = matchCredentials(known, await secrets());
      if (!match.matches) return true;
      if (match.learned !== undefined) {
        await this.#merge(image, imageRef, { kubernetesSecrets: [match.learned] });
      }
      return false;
    } catch (error) {
      logger.error("Unable to access cache records about image pulls", { why: messageOf(error) });
      return true;
    }
  }

  /** Drops records of images that are gone. */
  async prune(imageRefs: ReadonlySet<string>, untilMs: number): Promise<void> {
    const folder = this.#folder("pulled");
    for (const name of await listFolder(folder)) {
      const record = parse(await readTextIfPresent(join(folder, name))) as PulledRecord | undefined;
      if (record?.imageRef === undefined || imageRefs.has(record.imageRef)) continue;
      if (timeToMs(record.lastUpdatedTime) >= untilMs) continue;
      await rm(join(folder, name), { force: true });
    }
  }

  #merge(image: string, imageRef: string, added: PullCredentials | undefined): Promise<void> {
    const path = this.#path("pulled", imageRef);
    return this.#turns.run(path, () => this.#mergeInto(path, image, imageRef, added));
  }

  async #mergeInto(
    path: string,
    image: string,
    imageRef: string,
    added: PullCredentials | undefined,
  ): Promise<void> {
    const before = await this.#read(imageRef).catch(() => undefined);
    const mapping = before?.credentialMapping ?? {};
    const next =
      added === undefined ? mapping : mergeCredentials(mapping, repositoryOf(image), added);
    if (before !== undefined && next === mapping) return;
    const record: PulledRecord = {
      ...{ kind: "ImagePulledRecord", apiVersion: API_VERSION },
      lastUpdatedTime: timeFromMs(this.#options.clock.nowMs()),
      ...{ imageRef, credentialMapping: next },
    };
    await writeFileWhole(path, `${JSON.stringify(record)}\n`, PRIVATE);
  }

  /** Throws if there is a record that cannot be read. */
  async #read(imageRef: string): Promise<PulledRecord | undefined> {
    const text = await readTextIfPresent(this.#path("pulled", imageRef));
    if (text === undefined) return undefined;
    const record = JSON.parse(text) as PulledRecord;
    return record.imageRef === imageRef ? record : undefined;
  }

  #folder(which: "pulling" | "pulled"): string {
    return join(this.#options.root, "image_manager", which);
  }

  #path(which: "pulling" | "pulled", name: string): string {
    const hash = createHash("sha256").update(name).digest("hex");
    return join(this.#folder(which), `sha256-${hash}`);
  }
}

const PRIVATE = { mode: 0o600 };

function parse(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
