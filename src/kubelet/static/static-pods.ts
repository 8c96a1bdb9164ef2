/**
 * Static pods: manifests in a folder or behind a URL, run whatever the API server says, and shown
 * there by mirror pods.
 *
 * Promises:
 * 1. A manifest that is added, changed or removed is noticed at once, and every check period
 *    in any case.
 * 2. A changed manifest is another pod: the old one is ended.
 * 3. A mirror that is deleted or does not fit is made anew; mirrors of manifests that are gone are
 *    deleted.
 */
import { watch } from "node:fs/promises";
import { join } from "node:path";
import type { Pod } from "#api/generated/core.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { timeFromMs } from "#api/meta/time.ts";
import type { ReadCache } from "#client/cache.ts";
import type { Client } from "#client/client.ts";
import { listFolder, readTextIfPresent } from "#host/files.ts";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";
import { fetchManifests } from "./fetch-manifests.ts";
import { isMirror, isMirrorOf, mirrorOf, readStaticPod, sourceOf } from "./static-pod.ts";

export interface StaticPodsOptions {
  /** "" for none. */
  readonly folder: string;
  /** A Pod or a PodList; "" for none. */
  readonly url: string;
  readonly urlHeader: Readonly<Record<string, readonly string[]>>;
  readonly urlCheckMs: number;
  readonly nodeName: string;
  readonly checkMs: number;
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Pods of the node as the server has them. */
  readonly cache: ReadCache<Pod>;
  nodeUid(): string | undefined;
  onPod(pod: Pod): void;
  onRemoved(pod: Pod): void;
  /** The mirror of this static pod is in the cache. */
  onMirrored(uid: string): void;
}

export class StaticPods {
  readonly #options: StaticPodsOptions;
  /** By the path of the file, or by URL and index. */
  readonly #pods = new Map<string, Pod>();
  #reconciling: Promise<void> | undefined;
  #again = false;

  constructor(options: StaticPodsOptions) {
    this.#options = options;
  }

  /** The mirror of a static pod, if the server has it. */
  mirrorFor(uid: string): Pod | undefined {
    const pod = this.#find(uid);
    if (pod === undefined) return undefined;
    const { namespace, name = "" } = pod.metadata;
    const found = this.#options.cache.get(namespace, name);
    return found !== undefined && isMirrorOf(found, pod) ? found : undefined;
  }

  has(uid: string): boolean {
    return this.#find(uid) !== undefined;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { folder, url, checkMs, urlCheckMs } = this.#options;
    if (folder !== "") void this.#followFolder(folder, signal);
    await Promise.all([
      folder === "" ? undefined : this.#every(checkMs, () => this.#readFolder(), signal),
      url === "" ? undefined : this.#every(urlCheckMs, () => this.#readUrl(signal), signal),
    ]);
  }

  /** All sources once. */
  async read(signal?: AbortSignal): Promise<void> {
    const { folder, url } = this.#options;
    if (folder !== "") await this.#readFolder();
    if (url !== "") await this.#readUrl(signal);
  }

  async #every(periodMs: number, read: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      await clock.sleep(periodMs, signal).catch(() => undefined);
      if (!signal.aborted) await read();
    }
  }

  async #readFolder(): Promise<void> {
    const { folder } = this.#options;
    const manifests = new Map<string, string>();
    for (const name of await listFolder(folder)) {
      if (name.startsWith(".")) continue;
      const path = join(folder, name);
      const text = await readTextIfPresent(path).catch(() => undefined);
      if (text !== undefined) manifests.set(path, text);
    }
    this.#take("file", manifests);
  }

  async #readUrl(signal: AbortSignal | undefined): Promise<void> {
    const { url, urlHeader, logger } = this.#options;
    try {
      const texts = await fetchManifests(url, urlHeader, signal);
      this.#take("http", new Map(texts.map((text, i) => [`${url}#${i}`, text])));
    } catch (error) {
      logger.warn("Failed to read pods from URL", { url, why: messageOf(error) });
    }
  }

  /** All manifests of one source: those that it does not have any more are ended. */
  #take(source: "file" | "http", manifests: ReadonlyMap<string, string>): void {
    const { nodeName, clock, logger, onPod, onRemoved } = this.#options;
    const seen = timeFromMs(clock.nowMs());
    for (const [from, text] of manifests) {
      const result = readStaticPod(text, { nodeName, source, from, seen });
      if (!result.ok) {
        logger.error("a manifest cannot be used", { from, why: result.why });
        continue;
      }
      const known = this.#pods.get(from);
      if (known?.metadata.uid === result.pod.metadata.uid) continue;
      this.#pods.set(from, result.pod);
      if (known !== undefined) onRemoved(known);
      onPod(result.pod);
    }
    for (const [from, pod] of this.#pods) {
      if (sourceOf(pod) !== source || manifests.has(from)) continue;
      this.#pods.delete(from);
      onRemoved(pod);
    }
    this.reconcile();
  }

  /** A mirror was added, changed or removed. */
  onMirror(mirror: Pod | undefined): void {
    this.reconcile();
    if (mirror === undefined) return;
    const pod = [...this.#pods.values()].find((one) => isMirrorOf(mirror, one));
    if (pod !== undefined) this.#options.onMirrored(pod.metadata.uid ?? "");
  }

  /** Makes the mirrors what they should be. */
  reconcile(): void {
    this.#again = true;
    this.#reconciling ??= this.#reconcileAll().finally(() => {
      this.#reconciling = undefined;
    });
  }

  async #reconcileAll(): Promise<void> {
    while (this.#again) {
      this.#again = false;
      try {
        for (const pod of this.#pods.values()) await this.#ensureMirror(pod);
        await this.#deleteStrayMirrors();
      } catch (error) {
        this.#options.logger.debug("mirror pods are tried again", { why: messageOf(error) });
      }
    }
  }

  async #ensureMirror(pod: Pod): Promise<void> {
    const { client, cache, nodeUid } = this.#options;
    const { namespace, name = "" } = pod.metadata;
    const found = cache.get(namespace, name);
    if (found !== undefined) {
      const isFit = isMirrorOf(found, pod) && found.metadata.deletionTimestamp === undefined;
      if (!isFit) await this.#delete(found);
      return;
    }
    const uid = nodeUid();
    if (uid === undefined) return;
    const answer = await client.create(podKind, mirrorOf(pod, uid));
    if (answer.ok || answer.status.reason === "AlreadyExists") return;
    throw new Error(answer.status.message);
  }

  async #deleteStrayMirrors(): Promise<void> {
    const names = new Set([...this.#pods.values()].map((pod) => keyOf(pod)));
    for (const pod of [...this.#options.cache.list()]) {
      if (isMirror(pod) && !names.has(keyOf(pod))) await this.#delete(pod);
    }
  }

  async #delete({ metadata }: Pod): Promise<void> {
    const { namespace, name = "", uid = "" } = metadata;
    const options = { uid, gracePeriodSeconds: 0 };
    await this.#options.client.delete(podKind, { namespace, name }, options);
  }

  async #followFolder(folder: string, signal: AbortSignal): Promise<void> {
    try {
      for await (const _ of watch(folder, { signal })) await this.#readFolder();
    } catch {
      // A folder that is not there is looked for every check period.
    }
  }

  #find(uid: string): Pod | undefined {
    return [...this.#pods.values()].find((pod) => pod.metadata.uid === uid);
  }
}

function keyOf({ metadata }: Pod): string {
  return `${metadata.namespace ?? ""}/${metadata.name ?? ""}`;
}
