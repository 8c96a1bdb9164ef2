/**
 * Tokens of service accounts: those of TokenRequest, bound to a pod, secret or node, and the old ones
 * that lie in Secrets.
 *
 * Promises:
 * 1. A token dies with its account and with the object it is bound to, at once: only the signature
 *    is remembered, everything else is looked up in the server's caches for every request.
 * 2. A key whose id the token does not name is never tried.
 */
import { createPublicKey } from "node:crypto";
import type { ObjectMeta } from "#api/generated/meta.v1.ts";
import type { KindOf, KubeObject } from "#api/kind.ts";
import { secretKind } from "#api/kinds/core/v1/config/secret.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { serviceAccountKind } from "#api/kinds/core/v1/service-account.ts";
import { notFoundStatus } from "#api/meta/status.ts";
import type { Clock } from "#lib/time/clock.ts";
import { goStrings } from "../authz/rule.ts";
import type { User } from "../request/request.ts";
import type { Objects } from "../storage/objects.ts";
import type { Authentication, AuthenticationNotes } from "./authenticator.ts";
import {
  type Claims,
  type DecodedToken,
  decodeToken,
  isSignedWith,
  listClaim,
  stringClaim,
  TokenMemory,
  timeliness,
  type VerificationKey,
  verificationKey,
} from "./jwt.ts";
import { LEGACY_ISSUER, legacyFault, legacyNotes, legacyUser, noteUse } from "./legacy-tokens.ts";
import type { TokenAuthenticator } from "./token-authenticator.ts";
import {
  authenticated,
  CREDENTIAL_ID,
  serviceAccountGroups,
  serviceAccountUserName,
} from "./users.ts";

export interface ServiceAccountTokenOptions {
  /** PEM keys, public or private, that tokens may be signed with. */
  readonly keys: readonly string[];
  /** The first signs; tokens of the others are accepted. */
  readonly issuers: readonly string[];
  /** What names this API server in tokens. */
  readonly audiences: readonly string[];
  readonly objects: Objects;
  readonly clock: Pick<Clock, "nowMs">;
}

const DELETION_LEEWAY_MS = 60_000;

/** A token whose signature is good, and the user that it speaks of if the objects agree. */
interface Verified {
  readonly claims: Claims;
  readonly audiences: readonly string[];
  /** Undefined for the old tokens. */
  readonly bound: BoundClaims | undefined;
  readonly user: User;
}

export function createServiceAccountTokenAuthenticator(
  options: ServiceAccountTokenOptions,
): TokenAuthenticator {
  const keys = options.keys.map((pem) => verificationKey(createPublicKey(pem)));
  const memory = new TokenMemory<Verified>();
  const issuers = new Set([...options.issuers, LEGACY_ISSUER]);

  const verified = (token: string): Verified | Authentication => {
    const known = memory.get(token);
    if (known !== undefined) return known;
    const decoded = decodeToken(token);
    const issuer = decoded === undefined ? "" : stringClaim(decoded.claims, "iss");
    if (decoded === undefined || !issuers.has(issuer)) return { outcome: "unknown" };
    const fault = signatureFault(decoded, keys);
    if (fault !== undefined) return refuse(fault);
    const { claims } = decoded;
    const audiences = listClaim(claims, "aud");
    const bound = issuer === LEGACY_ISSUER ? undefined : readBound(claims);
    const user = bound === undefined ? legacyUser(claims) : boundUser(claims, bound);
    const entry: Verified = { claims, audiences, bound, user };
    memory.set(token, entry);
    return entry;
  };

  return {
    name: "service-account",
    authenticateToken(token, requested = options.audiences) {
      const entry = verified(token);
      if ("outcome" in entry) return entry;
      const meantFor = entry.audiences.length === 0 ? options.audiences : entry.audiences;
      const audiences = meantFor.filter((audience) => requested.includes(audience));
      if (audiences.length === 0) {
        return refuse(
          `token audiences ${goStrings(meantFor)} is invalid for the target audiences ` +
            goStrings(requested),
        );
      }
      const fault =
        entry.bound === undefined
          ? legacyFault(entry.claims, token, options)
          : boundFault(entry.claims, entry.bound, options);
      if (fault !== undefined) return refuse(fault);
      if (entry.bound === undefined) noteUse(entry.claims, options);
      const notes =
        entry.bound === undefined
          ? legacyNotes(entry.claims, options)
          : staleNotes(entry.claims, options.clock.nowMs());
      return { outcome: "known", user: entry.user, audiences, ...(notes ? { notes } : {}) };
    },
  };
}

/** Pod tokens are valid beyond the requested expiration; the use of such a stale token is audited. */
function staleNotes(claims: Claims, nowMs: number): AuthenticationNotes | undefined {
  const { warnafter } = (claims["kubernetes.io"] ?? {}) as Claims;
  if (typeof warnafter !== "number") return undefined;
  const late = Math.floor(nowMs / 1000) - warnafter;
  if (late <= 0) return undefined;
  const subject = stringClaim(claims, "sub");
  const text = `subject: ${subject}, seconds after warning threshold: ${late}`;
  return { annotations: { "authentication.k8s.io/stale-token": text } };
}

function refuse(reason: string): Authentication {
  return { outcome: "refused", reason };
}

function signatureFault(token: DecodedToken, keys: readonly VerificationKey[]): string | undefined {
  const id = stringClaim(token.header, "kid");
  const candidates = id === "" ? keys : keys.filter((key) => key.id === id);
  if (candidates.length === 0) return "invalid signature, no keys found";
  return candidates.some((key) => isSignedWith(token, key))
    ? undefined
    : "go-jose/go-jose: error in cryptographic primitive";
}

interface Ref {
  readonly name: string;
  readonly uid: string;
}

interface BoundClaims {
  readonly namespace: string;
  readonly serviceAccount: Ref;
  readonly pod: Ref | undefined;
  readonly secret: Ref | undefined;
  readonly node: Ref | undefined;
}

function readBound(claims: Claims): BoundClaims {
  const own = (claims["kubernetes.io"] ?? {}) as Claims;
  const ref = (name: string): Ref | undefined => {
    const value = own[name] as Claims | undefined;
    return value && { name: stringClaim(value, "name"), uid: stringClaim(value, "uid") };
  };
  return {
    namespace: stringClaim(own, "namespace"),
    serviceAccount: ref("serviceaccount") ?? { name: "", uid: "" },
    pod: ref("pod"),
    secret: ref("secret"),
    node: ref("node"),
  };
}

const TIME_FAULTS = {
  expired: "service account token has expired",
  early: "service account token is not valid yet",
  future: "service account token is issued in the future",
} as const;

function boundFault(
  claims: Claims,
  { namespace, serviceAccount: ref, secret, pod, node }: BoundClaims,
  options: ServiceAccountTokenOptions,
): string | undefined {
  const nowMs = options.clock.nowMs();
  const time = timeliness(claims, nowMs);
  if (time !== "valid") return TIME_FAULTS[time];
  const account = options.objects.get(serviceAccountKind, namespace, ref.name);
  if (account === undefined) {
    if (ref.name === "") return "resource name may not be empty";
    return notFoundStatus({ group: "", resource: "serviceaccounts" }, ref.name).message;
  }
  if (account.metadata.uid !== ref.uid) {
    return `service account UID (${account.metadata.uid}) does not match claim (${ref.uid})`;
  }
  if (isGone(account.metadata, nowMs)) {
    return `service account ${namespace}/${ref.name} has been deleted`;
  }
  const check = <T extends KubeObject>(
    kind: KindOf<T>,
    home: string,
    bound: Ref | undefined,
    what: string,
  ): string | undefined =>
    bound && objectFault(options.objects.get(kind, home, bound.name)?.metadata, bound, what, nowMs);
  return (
    check(secretKind, namespace, secret, "secret") ??
    check(podKind, namespace, pod, "pod") ??
    // A pod's node is only mentioned; a token bound to the node itself depends on it.
    (pod === undefined ? check(nodeKind, "", node, "node") : undefined)
  );
}

function objectFault(
  meta: ObjectMeta | undefined,
  { uid }: Ref,
  what: string,
  nowMs: number,
): string | undefined {
  const invalidated = "service account token has been invalidated";
  if (meta === undefined) return invalidated;
  if (meta.uid !== uid) {
    return `${what} UID (${meta.uid}) does not match service account ${what} ref claim (${uid})`;
  }
  return isGone(meta, nowMs) ? invalidated : undefined;
}

function isGone({ deletionTimestamp }: ObjectMeta, nowMs: number): boolean {
  if (deletionTimestamp === undefined || deletionTimestamp === null) return false;
  return Date.parse(deletionTimestamp) < nowMs - DELETION_LEEWAY_MS;
}

function boundUser(claims: Claims, { namespace, serviceAccount, pod, node }: BoundClaims): User {
  const id = stringClaim(claims, "jti");
  const prefix = "authentication.kubernetes.io/";
  const extra = {
    ...(pod ? { [`${prefix}pod-name`]: [pod.name], [`${prefix}pod-uid`]: [pod.uid] } : {}),
    ...(id === "" ? {} : { [CREDENTIAL_ID]: [`JTI=${id}`] }),
    ...(node?.name ? { [`${prefix}node-name`]: [node.name] } : {}),
    ...(node?.name && node.uid ? { [`${prefix}node-uid`]: [node.uid] } : {}),
  };
  return authenticated({
    name: serviceAccountUserName(namespace, serviceAccount.name),
    uid: serviceAccount.uid,
    groups: serviceAccountGroups(namespace),
    ...(Object.keys(extra).length > 0 ? { extra } : {}),
  });
}
