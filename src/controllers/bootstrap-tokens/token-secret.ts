/** A bootstrap token as its Secret holds it. */
import type { Secret } from "#api/generated/core.v1.ts";
import { parseTime, timeToMs } from "#api/meta/time.ts";

export const TOKEN_NAMESPACE = "kube-system";
const TYPE = "bootstrap.kubernetes.io/token";
const NAME = /^bootstrap-token-([a-z0-9]{6})$/;

export interface SigningToken {
  readonly id: string;
  readonly secret: string;
}

export function isTokenSecret({ metadata, type }: Secret): boolean {
  return type === TYPE && metadata.namespace === TOKEN_NAMESPACE;
}

/** When the token ends; never, unless it says so; long ago if what it says makes no sense. */
export function expiryMs(secret: Secret): number {
  const text = dataOf(secret, "expiration");
  if (text === "") return Number.POSITIVE_INFINITY;
  return parseTime(text).ok ? timeToMs(text) : Number.NEGATIVE_INFINITY;
}

/** The token, if it may vouch for the cluster's information. */
export function signingToken(secret: Secret, nowMs: number): SigningToken | undefined {
  const id = dataOf(secret, "token-id");
  const key = dataOf(secret, "token-secret");
  const isUsable =
    id !== "" &&
    key !== "" &&
    NAME.exec(secret.metadata.name ?? "")?.[1] === id &&
    dataOf(secret, "usage-bootstrap-signing") === "true" &&
    nowMs < expiryMs(secret);
  return isUsable ? { id, secret: key } : undefined;
}

function dataOf({ data }: Secret, key: string): string {
  return atob(data?.[key] ?? "");
}
