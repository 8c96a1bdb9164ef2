/**
 * Signs the public description of the cluster with every bootstrap token that may vouch for it, so
 * that a machine that joins with such a token knows that it talks to the right cluster.
 */

import type { ConfigMap, Secret } from "#api/generated/core.v1.ts";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { secretKind } from "#api/kinds/core/v1/config/secret.ts";
import {
  type Controller,
  defineController,
  idle,
  type Key,
  type Outcome,
} from "#runtime/controller.ts";
import { update } from "#runtime/writes.ts";
import { expiryMs, isTokenSecret, signingToken, TOKEN_NAMESPACE } from "./token-secret.ts";

const INFO: Key & { readonly namespace: string } = {
  namespace: "kube-public",
  name: "cluster-info",
};
const SIGNATURE_PREFIX = "jws-kubeconfig-";

/** HMAC with SHA-256, in base64url. */
export type Hmac = (key: string, text: string) => string;

interface State {
  readonly info: ConfigMap | undefined;
  readonly secrets: readonly Secret[];
}

export function bootstrapSigner(hmac: Hmac): Controller<State> {
  return defineController<State>({
    name: "bootstrap-signer-controller",
    rule: "cluster-info carries a signature by each token that may sign",
    feeds: [
      {
        kind: configMapKind,
        keys: ({ metadata }: ConfigMap) =>
          metadata.namespace === INFO.namespace && metadata.name === INFO.name ? [INFO] : [],
      },
      { kind: secretKind, keys: (secret: Secret) => (isTokenSecret(secret) ? [INFO] : []) },
    ],
    observe: (caches) => ({
      info: caches(configMapKind).get(INFO.namespace, INFO.name),
      secrets: [...caches(secretKind).list(TOKEN_NAMESPACE)].filter(isTokenSecret),
    }),
    decide: (state, nowMs) => decide(state, hmac, nowMs),
  });
}

function decide({ info, secrets }: State, hmac: Hmac, nowMs: number): Outcome {
  const kubeconfig = info?.data?.kubeconfig;
  if (info === undefined || kubeconfig === undefined) return idle;
  const wanted = Object.fromEntries(
    secrets
      .flatMap((secret) => signingToken(secret, nowMs) ?? [])
      .map(({ id, secret }) => [SIGNATURE_PREFIX + id, signature(kubeconfig, id, secret, hmac)]),
  );
  const entries = Object.entries(info.data ?? {});
  const signatures = entries.filter(([key]) => key.startsWith(SIGNATURE_PREFIX));
  const isRight =
    signatures.length === Object.keys(wanted).length &&
    signatures.every(([key, value]) => wanted[key] === value);
  const ends = secrets.map(expiryMs).filter((endMs) => endMs > nowMs && Number.isFinite(endMs));
  const recheck = ends.length === 0 ? {} : { recheckInMs: Math.min(...ends) - nowMs };
  if (isRight) return recheck;
  const others = entries.filter(([key]) => !key.startsWith(SIGNATURE_PREFIX));
  const data = { ...Object.fromEntries(others), ...wanted };
  return { ...recheck, writes: [update(configMapKind, { ...info, data })] };
}

/** A JSON web signature without what it signs, which stands beside it. */
function signature(content: string, id: string, secret: string, hmac: Hmac): string {
  const header = base64Url(`{"alg":"HS256","kid":${JSON.stringify(id)}}`);
  return `${header}..${hmac(secret, `${header}.${base64Url(content)}`)}`;
}

function base64Url(text: string): string {
  const bytes = new TextEncoder().encode(text);
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
