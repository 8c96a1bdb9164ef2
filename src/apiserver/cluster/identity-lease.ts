/**
 * Each API server has a Lease in kube-system by which others know that it is alive. It is renewed
 * while the server runs, and Leases of servers that are gone are removed.
 */
import { createHash } from "node:crypto";
import type { Lease } from "#api/generated/coordination.v1.ts";
import { leaseKind } from "#api/kinds/coordination/v1/lease.ts";
import { microTimeFromMs, timeToMs } from "#api/meta/time.ts";
import { runEvery } from "#lib/async/sleep.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { Objects } from "../storage/objects.ts";
import type { Loopback } from "./loopback.ts";

const NAMESPACE = "kube-system";
const IDENTITY = "apiserver.kubernetes.io/identity";
const DURATION_SECONDS = 3_600;
/** Often enough that a few failures do not matter, seldom enough that an idle server is idle. */
const RENEW_MS = 600_000;

export interface IdentityLeaseOptions {
  readonly loopback: Loopback;
  readonly objects: Objects;
  readonly clock: Clock;
  readonly random: Random;
  readonly hostname: string;
  /** `HOST:PORT` at which other API servers reach this one. */
  readonly peerAddress: string;
  /** How often the lease is renewed; upstream's ten minutes unless given. */
  readonly identityRenewMs?: number;
}

/** Lives until the signal aborts. */
export async function runIdentityLease(
  options: IdentityLeaseOptions,
  signal: AbortSignal,
): Promise<void> {
  const { clock, random, hostname, peerAddress } = options;
  const name = serverIdentity(hostname, peerAddress);
  const holder = `${name}_${random.uuid()}`;
  const renew = async (): Promise<void> => {
    const lease = leaseOf(options, name, holder);
    await options.loopback.ensure(leaseKind, lease, (draft) => {
      draft.spec = { ...draft.spec, ...lease.spec } as typeof draft.spec & object;
    });
    await removeExpired(options);
  };
  await renew();
  await runEvery(clock, options.identityRenewMs ?? RENEW_MS, renew, signal);
}

/** Two servers on one machine have the same name but not the same address. */
export function serverIdentity(hostname: string, peerAddress: string): string {
  const hash = createHash("sha256").update(`${hostname}\n${peerAddress}`).digest();
  return `apiserver-${base32(hash.subarray(0, 16))}`;
}

function leaseOf(
  { clock, hostname, peerAddress }: IdentityLeaseOptions,
  name: string,
  holder: string,
): Lease {
  return {
    kind: "Lease",
    apiVersion: "coordination.k8s.io/v1",
    metadata: {
      name,
      namespace: NAMESPACE,
      labels: { [IDENTITY]: "kube-apiserver", "kubernetes.io/hostname": hostname },
      annotations: { "kubernetes.io/peer-advertise-address": peerAddress },
    },
    spec: {
      holderIdentity: holder,
      leaseDurationSeconds: DURATION_SECONDS,
      renewTime: microTimeFromMs(clock.nowMs()),
    },
  };
}

async function removeExpired({ objects, loopback, clock }: IdentityLeaseOptions): Promise<void> {
  for (const { metadata, spec } of [...objects.list(leaseKind, NAMESPACE)]) {
    if (metadata.labels?.[IDENTITY] !== "kube-apiserver") continue;
    const endMs =
      timeToMs(spec?.renewTime ?? "") + (spec?.leaseDurationSeconds ?? DURATION_SECONDS) * 1000;
    if (endMs < clock.nowMs()) await loopback.delete(leaseKind, NAMESPACE, metadata.name ?? "");
  }
}

const BASE32 = "abcdefghijklmnopqrstuvwxyz234567";

function base32(bytes: Uint8Array): string {
  let text = "";
  let bits = 0;
  let held = 0;
  for (const byte of bytes) {
    held = (held << 8) | byte;
    bits += 8;
    for (; bits >= 5; bits -= 5) text += BASE32[(held >> (bits - 5)) & 31];
    held &= (1 << bits) - 1;
  }
  return bits === 0 ? text : text + BASE32[(held << (5 - bits)) & 31];
}
