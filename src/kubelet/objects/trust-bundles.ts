/**
 * ClusterTrustBundles for projected volumes. Nothing is watched before the first pod asks for one;
 * from then on a single informer follows all bundles, because a source may select by labels.
 *
 * Promises:
 * 1. `byName` and `bySigner` answer PEM text, "" for a missing bundle that is optional, and throw
 *    with upstream's words otherwise.
 * 2. `onChange` is called with the uids of all pods that project bundles when one changes.
 */
import { createHash } from "node:crypto";
import type { ClusterTrustBundle } from "#api/generated/certificates.v1beta1.ts";
import type { LabelSelector } from "#api/generated/meta.v1.ts";
import { clusterTrustBundleV1beta1Kind } from "#api/kinds/certificates/v1beta1/cluster-trust-bundle.ts";
import { formatSelector, matchesLabels, selectorOf } from "#api/meta/label-selector.ts";
import { Informer } from "#client/informer.ts";
import { normalizeTrustAnchors } from "#kubelet/decide/inputs/trust-anchors.ts";
import { withTimeout } from "#lib/async/sleep.ts";
import type { WatchedObjectsOptions } from "./watched-objects.ts";

const SYNC_TIMEOUT_MS = 10_000;
/** Characters of a label selector in its text form. */
const SELECTOR_LENGTH_MAX = 100 * 1024;

export class TrustBundles {
  readonly #options: WatchedObjectsOptions;
  readonly #signal: AbortSignal;
  readonly #salt: string;
  readonly #users = new Set<string>();
  #informer: Promise<Informer<ClusterTrustBundle>> | undefined;

  constructor(options: WatchedObjectsOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
    this.#salt = options.random.uuid();
  }

  async byName(uid: string, name: string, optional: boolean): Promise<string> {
    const { cache } = await this.#synced(uid);
    const bundle = cache.get("", name);
    if (bundle !== undefined) return this.#normalize([bundle]);
    if (optional) return "";
    const what = `clustertrustbundle.certificates.k8s.io "${name}" not found`;
    throw new Error(`while getting ClusterTrustBundle: ${what}`);
  }

  /** Without a selector nothing is selected; an empty one selects all bundles of the signer. */
  async bySigner(
    uid: string,
    signerName: string,
    labelSelector: LabelSelector | undefined,
    optional: boolean,
  ): Promise<string> {
    const { cache } = await this.#synced(uid);
    const parsed = selectorOf(labelSelector);
    if (!parsed.ok) throw new Error(`while parsing label selector: ${parsed.error}`);
    const { length } = formatSelector(parsed.value);
    if (length > SELECTOR_LENGTH_MAX) {
      throw new Error(`label selector length (${length}) is larger than ${SELECTOR_LENGTH_MAX}`);
    }
    const bundles = [...cache.list()].filter(
      ({ metadata, spec }) =>
        spec.signerName === signerName && matchesLabels(parsed.value, metadata.labels),
    );
    if (bundles.length > 0) return this.#normalize(bundles);
    if (optional) return "";
    throw new Error("combination of signerName and labelSelector matched zero ClusterTrustBundles");
  }

  /** The pod is gone. */
  forget(uid: string): void {
    this.#users.delete(uid);
  }

  #normalize(bundles: readonly ClusterTrustBundle[]): string {
    const texts = bundles.map(({ spec }) => spec.trustBundle);
    return normalizeTrustAnchors(texts, (bytes) =>
      createHash("sha256").update(this.#salt).update(bytes).digest("hex"),
    );
  }

  async #synced(uid: string): Promise<Informer<ClusterTrustBundle>> {
    this.#users.add(uid);
    this.#informer ??= this.#start();
    const informer = await this.#informer.catch((error: unknown) => {
      this.#informer = undefined;
      throw error;
    });
    const { clock } = this.#options;
    if (!informer.isSynced) {
      await withTimeout(clock, SYNC_TIMEOUT_MS, () => informer.synced).catch(() => {
        throw new Error("ClusterTrustBundle informer has not yet synced");
      });
    }
    return informer;
  }

  /** A server without the API answers 404; then nothing is watched. */
  async #start(): Promise<Informer<ClusterTrustBundle>> {
    const { client, clock, random, logger, onChange } = this.#options;
    const probe = await client.list(clusterTrustBundleV1beta1Kind, { limit: 1 }, this.#signal);
    if (!probe.ok && probe.status.code === 404) {
      throw new Error("ClusterTrustBundle projection is not supported in static kubelet mode");
    }
    if (!probe.ok) {
      const why = `failed to determine which informer manager to choose: ${probe.status.message ?? ""}`;
      throw new Error(`failed to ensure informer manager for ClusterTrustBundles: ${why}`);
    }
    const informer = new Informer<ClusterTrustBundle>({
      ...{ client, clock, random, logger, kind: clusterTrustBundleV1beta1Kind },
    });
    informer.on(() => {
      if (informer.isSynced) onChange(this.#users);
    }, this.#signal);
    void informer.run(this.#signal);
    return informer;
  }
}
