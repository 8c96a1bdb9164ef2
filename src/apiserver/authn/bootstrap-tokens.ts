/** Tokens for joining nodes: `id.secret`, kept in Secrets of kube-system. */
import { timingSafeEqual } from "node:crypto";
import type { Secret } from "#api/generated/core.v1.ts";
import { secretKind } from "#api/kinds/core/v1/config/secret.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { Objects } from "../storage/objects.ts";
import type { TokenAuthenticator } from "./token-authenticator.ts";
import { authenticated } from "./users.ts";

const TOKEN = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;
const EXTRA_GROUP = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/;

export function createBootstrapTokenAuthenticator(
  objects: Objects,
  clock: Pick<Clock, "nowMs">,
): TokenAuthenticator {
  return {
    name: "bootstrap-token",
    authenticateToken(token) {
      const [, id = "", code = ""] = TOKEN.exec(token) ?? [];
      const secret =
        id === "" ? undefined : objects.get(secretKind, "kube-system", `bootstrap-token-${id}`);
      const groups = secret && isUsable(secret, id, code, clock.nowMs()) && groupsOf(secret);
      if (!groups) return { outcome: "unknown" };
      return { outcome: "known", user: authenticated({ name: `system:bootstrap:${id}`, groups }) };
    },
  };
}

function isUsable(secret: Secret, id: string, code: string, nowMs: number): boolean {
  const expiration = field(secret, "expiration");
  return (
    !secret.metadata.deletionTimestamp &&
    secret.type === "bootstrap.kubernetes.io/token" &&
    equalTexts(field(secret, "token-secret"), code) &&
    field(secret, "token-id") === id &&
    // A time that cannot be read counts as over.
    (expiration === "" || Date.parse(expiration) >= nowMs) &&
    field(secret, "usage-bootstrap-authentication") === "true"
  );
}

/** Undefined if one of the groups is not a bootstrapper's. */
function groupsOf(secret: Secret): string[] | undefined {
  const extra = field(secret, "auth-extra-groups");
  const named = extra === "" ? [] : extra.split(",");
  if (!named.every((group) => EXTRA_GROUP.test(group))) return undefined;
  return [...new Set(["system:bootstrappers", ...named])].sort();
}

function field({ data }: Secret, name: string): string {
  return Buffer.from(data?.[name] ?? "", "base64").toString("utf8");
}

function equalTexts(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
