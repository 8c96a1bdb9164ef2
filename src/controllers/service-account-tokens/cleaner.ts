/**
 * Auto-generated service account tokens that were not used for long are first labelled invalid, and
 * deleted after the same time again.
 */

import type { Secret, ServiceAccount } from "#api/generated/core.v1.ts";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { secretKind } from "#api/kinds/core/v1/config/secret.ts";
import { podSecretNames } from "#api/kinds/core/v1/pod/references.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { serviceAccountKind } from "#api/kinds/core/v1/service-account.ts";
import { timeFromMs, timeToMs } from "#api/meta/time.ts";
import {
  type Caches,
  type Controller,
  defineController,
  idle,
  type Key,
  type Outcome,
  ownKey,
  readOnly,
  recheckIn,
} from "#runtime/controller.ts";
import { deleteUnchanged, patch } from "#runtime/writes.ts";
import { ACCOUNT_NAME, isAccountToken, isTokenOf } from "./token-secret.ts";

const DAY_MS = 86_400_000;
const TRACKING = "kube-apiserver-legacy-service-account-token-tracking";
const LAST_USED = "kubernetes.io/legacy-token-last-used";
const INVALID_SINCE = "kubernetes.io/legacy-token-invalid-since";
const DATE = /^\d{4}-\d\d-\d\d$/;

interface State {
  readonly secret: Secret;
  readonly account: ServiceAccount | undefined;
  /** Since when the use of tokens is noted: a date. */
  readonly trackedSince: string | undefined;
  /** Whether a pod uses it; only known of secrets that are old enough to go. */
  readonly isMounted: boolean;
}

export function legacyTokenCleaner(unusedMs: number): Controller<State | undefined> {
  return defineController<State | undefined>({
    name: "legacy-serviceaccount-token-cleaner-controller",
    rule: "a token Secret that was not used for long is marked invalid, then deleted",
    feeds: [
      {
        kind: secretKind,
        keys: (secret: Secret) => (isAccountToken(secret) ? ownKey(secret) : []),
      },
      {
        kind: serviceAccountKind,
        keys: ({ metadata, secrets = [] }: ServiceAccount) =>
          secrets.map(({ name = "" }) => ({ namespace: metadata.namespace, name })),
      },
      readOnly(podKind),
      readOnly(configMapKind),
    ],
    observe: (caches, key, _reader, _memory, { nowMs }) => observe(caches, key, nowMs - unusedMs),
    decide: (state, nowMs) => (state === undefined ? idle : decide(state, unusedMs, nowMs)),
  });
}

function observe(caches: Caches, { namespace, name }: Key, oldestMs: number): State | undefined {
  const secret = caches(secretKind).get(namespace, name);
  if (secret === undefined || !isAccountToken(secret)) return undefined;
  const accountName = secret.metadata.annotations?.[ACCOUNT_NAME] ?? "";
  return {
    secret,
    account: caches(serviceAccountKind).get(namespace, accountName),
    trackedSince: caches(configMapKind).get("kube-system", TRACKING)?.data?.since,
    isMounted:
      timeToMs(secret.metadata.creationTimestamp ?? "") < oldestMs &&
      [...caches(podKind).list(namespace)].some((pod) => podSecretNames(pod).includes(name)),
  };
}

function decide(state: State, unusedMs: number, nowMs: number): Outcome {
  const { secret, account, trackedSince } = state;
  const { labels = {}, creationTimestamp = "", deletionTimestamp, name } = secret.metadata;
  const isOurs =
    isTokenOf(secret, account) &&
    (account?.secrets ?? []).some((reference) => reference.name === name);
  if (!isOurs || deletionTimestamp !== undefined) return idle;
  const later = recheckIn(DAY_MS);
  if (trackedSince === undefined || !DATE.test(trackedSince)) return later;
  const oldestMs = nowMs - unusedMs;
  const oldestDate = dateOf(oldestMs);
  // The day on which tracking began is not known to the hour.
  if (timeToMs(`${trackedSince}T00:00:00Z`) + DAY_MS > oldestMs) return later;
  if (timeToMs(creationTimestamp ?? "") >= oldestMs) return later;
  const lastUsed = labels[LAST_USED];
  if (lastUsed !== undefined && (!DATE.test(lastUsed) || lastUsed >= oldestDate)) return later;
  if (state.isMounted) return later;
  const invalidSince = labels[INVALID_SINCE] ?? "";
  if (!DATE.test(invalidSince)) {
    const metadata = { labels: { [INVALID_SINCE]: dateOf(nowMs) } };
    return { ...later, writes: [patch(secretKind, secret, "merge", { metadata })] };
  }
  if (invalidSince >= oldestDate) return later;
  return { writes: [deleteUnchanged(secretKind, secret)] };
}

function dateOf(atMs: number): string {
  return timeFromMs(atMs).slice(0, "2030-01-01".length);
}
