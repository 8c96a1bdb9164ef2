/** The old tokens of service accounts, which lie in Secrets and do not end. */
import { timingSafeEqual } from "node:crypto";
import { secretKind } from "#api/core/v1/secret.ts";
import { serviceAccountKind } from "#api/core/v1/service-account.ts";
import { notFoundStatus } from "#api/meta/status.ts";
import type { Clock } from "#lib/clock.ts";
import type { Objects } from "../objects.ts";
import type { User } from "../request.ts";
import { type Claims, stringClaim } from "./jwt.ts";
import {
  authenticated,
  serviceAccountGroups,
  serviceAccountUserName,
  splitServiceAccount,
} from "./users.ts";

export const LEGACY_ISSUER = "kubernetes/serviceaccount";

interface Surroundings {
  readonly objects: Objects;
  readonly clock: Pick<Clock, "nowMs">;
}

function readLegacy(claims: Claims) {
  const claim = (name: string): string =>
    stringClaim(claims, `kubernetes.io/serviceaccount/${name}`);
  return {
    subject: stringClaim(claims, "sub"),
    namespace: claim("namespace"),
    secretName: claim("secret.name"),
    accountName: claim("service-account.name"),
    accountUid: claim("service-account.uid"),
  };
}

/** What is wrong with a token whose signature is right. */
export function legacyFault(
  claims: Claims,
  token: string,
  { objects }: Surroundings,
): string | undefined {
  const { subject, namespace, secretName, accountName, accountUid } = readLegacy(claims);
  if (subject === "") return "sub claim is missing";
  if (namespace === "") return "namespace claim is missing";
  if (secretName === "") return "secretName claim is missing";
  if (accountName === "") return "serviceAccountName claim is missing";
  if (accountUid === "") return "serviceAccountUID claim is missing";
  const named = splitServiceAccount(subject);
  if (named?.namespace !== namespace || named.name !== accountName) return "sub claim is invalid";

  const secret = objects.get(secretKind, namespace, secretName);
  if (!secret || secret.metadata.deletionTimestamp) return "Token has been invalidated";
  if (!equalTexts(secret.data?.token ?? "", Buffer.from(token).toString("base64"))) {
    return "Token does not match server's copy";
  }
  const account = objects.get(serviceAccountKind, namespace, accountName);
  if (account === undefined) {
    return notFoundStatus({ group: "", resource: "serviceaccounts" }, accountName).message;
  }
  if (account.metadata.deletionTimestamp) {
    return `ServiceAccount ${namespace}/${accountName} has been deleted`;
  }
  if (account.metadata.uid !== accountUid) {
    return `ServiceAccount UID (${account.metadata.uid}) does not match claim (${accountUid})`;
  }
  if (secret.metadata.labels?.[INVALID_SINCE]) {
    return (
      `the token in secret ${namespace}/${secretName} for service account ${namespace}/` +
      `${accountName} has been marked invalid. Use tokens from the TokenRequest API or manually ` +
      `created secret-based tokens, or remove the '${INVALID_SINCE}' label from the secret to ` +
      "temporarily allow use of this token"
    );
  }
  return undefined;
}

const INVALID_SINCE = "kubernetes.io/legacy-token-invalid-since";
const LAST_USED = "kubernetes.io/legacy-token-last-used";
const DAY_MS = 86_400_000;

/** Writes down once a day that an old token is still in use, so that unused ones can be found. */
export function noteUse(claims: Claims, { objects, clock }: Surroundings): void {
  const { namespace, secretName } = readLegacy(claims);
  const day = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
  const today = day(clock.nowMs());
  const noted = objects.get(secretKind, namespace, secretName)?.metadata.labels?.[LAST_USED];
  if (noted === today || noted === day(clock.nowMs() + DAY_MS)) return;
  // Nothing depends on it: should it fail, the next use tries again.
  void objects
    .mutate(secretKind, namespace, secretName, ({ metadata }) => {
      metadata.labels = { ...metadata.labels, [LAST_USED]: today };
      return undefined;
    })
    .catch(() => undefined);
}

export function legacyUser(claims: Claims): User {
  const { namespace, accountName, accountUid } = readLegacy(claims);
  return authenticated({
    name: serviceAccountUserName(namespace, accountName),
    uid: accountUid,
    groups: serviceAccountGroups(namespace),
  });
}

function equalTexts(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
