/**
 * Certificates of pods (podCertificate sources of projected volumes). The kubelet makes a key, asks
 * with a PodCertificateRequest, and waits for a signer. Nothing is stored: a kubelet that starts anew
 * asks anew. Requests are watched from the first such volume on.
 *
 * Promises:
 * 1. `get` answers credentials once they are issued and throws with upstream's words until then. It
 *    is to be called again at `lookAtMs` at the latest, and asks for a refresh when that is due.
 * 2. `onChange` is called with the uid of a pod whose request has an outcome.
 * 3. One request is open for a source at any time.
 */
import type { PodCertificateRequest } from "#api/generated/certificates.v1beta1.ts";
import type { Pod, PodCertificateProjection } from "#api/generated/core.v1.ts";
import { podCertificateRequestKind } from "#api/kinds/certificates/v1beta1/pod-certificate-request.ts";
import { serviceAccountKind } from "#api/kinds/core/v1/service-account.ts";
import { Informer } from "#client/informer.ts";
import {
  type CertificateState,
  credentialsOf,
  decideCertificate,
  JITTER_MAX_MS,
  metricStateOf,
  nextLookMs,
  openRequest,
  postponed,
  withRequest,
} from "#kubelet/decide/pod-certificate.ts";
import type { PodEvents } from "#kubelet/pods/pod-events.ts";
import { createKeyWithProof } from "./certificate-key.ts";
import type { WatchedObjectsOptions } from "./watched-objects.ts";

export interface PodCertificatesOptions extends WatchedObjectsOptions {
  readonly nodeName: string;
  readonly events: PodEvents;
  nodeUid(): string | undefined;
}

export interface CertificateSource {
  readonly pod: Pod;
  readonly volumeName: string;
  readonly sourceIndex: number;
  readonly projection: PodCertificateProjection;
}

export interface PodCredentials {
  readonly key: string;
  readonly chain: string;
  /** By the clock's `elapsedMs`. */
  readonly lookAtMs: number;
}

interface Held {
  readonly uid: string;
  readonly signerName: string;
  state: CertificateState;
  /** The step in progress; those that come meanwhile wait for it. */
  turn: Promise<void>;
}

export class PodCertificates {
  readonly #options: PodCertificatesOptions;
  readonly #signal: AbortSignal;
  readonly #held = new Map<string, Held>();
  #informer: Informer<PodCertificateRequest> | undefined;

  constructor(options: PodCertificatesOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  async get(source: CertificateSource): Promise<PodCredentials> {
    const held = this.#heldFor(source);
    const turn = held.turn.then(() => this.#step(held, source));
    held.turn = turn.catch(() => undefined);
    await turn;
    const credentials = credentialsOf(held.state);
    if (!credentials.ok) throw new Error(credentials.why);
    const { clock } = this.#options;
    const inMs = (nextLookMs(held.state) ?? clock.nowMs()) - clock.nowMs();
    const { key, chain } = credentials.issued;
    return { key, chain, lookAtMs: clock.elapsedMs() + Math.max(inMs, 0) };
  }

  forget(uid: string): void {
    for (const [id, held] of this.#held) if (held.uid === uid) this.#held.delete(id);
  }

  /** How many sources are in each state, by signer. */
  counts(): { readonly signerName: string; readonly state: string; readonly count: number }[] {
    const counts = new Map<string, { signerName: string; state: string; count: number }>();
    for (const { signerName, state: one } of this.#held.values()) {
      const state = metricStateOf(one, this.#options.clock.nowMs());
      const id = `${signerName} ${state}`;
      counts.set(id, { signerName, state, count: (counts.get(id)?.count ?? 0) + 1 });
    }
    return [...counts.values()];
  }

  #heldFor({ pod, volumeName, sourceIndex, projection }: CertificateSource): Held {
    const uid = pod.metadata.uid ?? "";
    const id = `${uid}/${volumeName}/${sourceIndex}`;
    const known = this.#held.get(id);
    if (known !== undefined) return known;
    const signerName = projection.signerName ?? "";
    const held: Held = { uid, signerName, state: { at: "initial" }, turn: Promise.resolve() };
    this.#held.set(id, held);
    return held;
  }

  async #step(held: Held, source: CertificateSource): Promise<void> {
    const { clock, events } = this.#options;
    const { pod } = source;
    const informer = this.#watch();
    const { state } = held;
    const request =
      "open" in state
        ? informer.cache.get(pod.metadata.namespace ?? "", state.open.name)
        : undefined;
    const step = decideCertificate(state, request, clock.nowMs(), this.#jitterMs());
    held.state = step.state;
    for (const { reason, message } of step.events) events.pod(pod, "Warning", reason, message);
    if (!step.needsRequest) return;
    try {
      const open = await this.#request(source);
      held.state = withRequest(held.state, open);
    } catch (error) {
      // What was issued before is good until it expires; the pod is looked at again by its worker.
      if (!credentialsOf(held.state).ok) throw error;
      const { logger } = this.#options;
      logger.warn("a pod's certificate was not refreshed", { pod: pod.metadata.name, error });
      held.state = postponed(held.state, clock.nowMs());
    }
  }

  async #request({ pod, projection }: CertificateSource) {
    const { client, clock, nodeName } = this.#options;
    const { namespace = "", name: podName = "", uid: podUID = "" } = pod.metadata;
    const serviceAccountName = pod.spec.serviceAccountName ?? "";
    const key = { namespace, name: serviceAccountName };
    const account = await client.get(serviceAccountKind, key, this.#signal);
    if (!account.ok) {
      throw new Error(`while fetching service account: ${account.status.message ?? ""}`);
    }
    const { keyPem, request } = await createKeyWithProof(projection.keyType ?? "");
    const { maxExpirationSeconds, userAnnotations } = projection;
    const created = await client.create(
      podCertificateRequestKind,
      {
        apiVersion: "certificates.k8s.io/v1beta1",
        kind: "PodCertificateRequest",
        metadata: {
          namespace,
          generateName: "req-",
          ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: podName, uid: podUID }],
        },
        spec: {
          ...{ signerName: projection.signerName ?? "", podName, podUID, serviceAccountName },
          serviceAccountUID: account.value.metadata.uid ?? "",
          ...{ nodeName, nodeUID: this.#options.nodeUid() ?? "" },
          ...(maxExpirationSeconds === undefined ? {} : { maxExpirationSeconds }),
          ...{ pkixPublicKey: "", proofOfPossession: "", stubPKCS10Request: request },
          ...(userAnnotations && { unverifiedUserAnnotations: userAnnotations }),
        },
        status: {},
      },
      {},
      this.#signal,
    );
    if (!created.ok) {
      const why = `while creating on API: ${created.status.message ?? ""}`;
      throw new Error(`while creating initial PodCertificateRequest: ${why}`);
    }
    return openRequest(created.value, keyPem, clock.nowMs(), this.#jitterMs());
  }

  #watch(): Informer<PodCertificateRequest> {
    if (this.#informer !== undefined) return this.#informer;
    const { client, clock, random, logger, nodeName, onChange } = this.#options;
    const informer = new Informer<PodCertificateRequest>({
      ...{ client, clock, random, logger, kind: podCertificateRequestKind },
      fieldSelector: `spec.nodeName=${nodeName}`,
    });
    informer.on(({ next, old }) => onChange([(next ?? old)!.spec.podUID]), this.#signal);
    void informer.run(this.#signal);
    this.#informer = informer;
    return informer;
  }

  #jitterMs(): number {
    return this.#options.random.integer(JITTER_MAX_MS);
  }
}
