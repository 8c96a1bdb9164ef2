/** ConfigMaps in which the server publishes its certificate authorities and front-proxy settings. */

import { X509Certificate } from "node:crypto";
import type { ConfigMap } from "#api/generated/core.v1.ts";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { timeFromMs } from "#api/meta/time.ts";
import { certificatesIn } from "#lib/der/pem.ts";
import type { FrontProxyOptions } from "../authn/front-proxy.ts";
import type { Objects } from "../storage/objects.ts";
import type { Loopback } from "./loopback.ts";

export interface PublishedConfig {
  readonly clientCaPem: string | undefined;
  readonly frontProxy: (FrontProxyOptions & { readonly caPem: string }) | undefined;
  readonly nowMs: number;
}

const AUTHENTICATION = "extension-apiserver-authentication";

/** Returns what went wrong. */
export async function publishConfig(
  loopback: Loopback,
  config: PublishedConfig,
): Promise<string[]> {
  const tracking = configMap("kube-apiserver-legacy-service-account-token-tracking", {
    since: timeFromMs(config.nowMs).slice(0, 10),
  });
  const written = await Promise.all([
    publishAuthentication(loopback, config),
    loopback.ensure(configMapKind, tracking),
  ]);
  return written.flatMap((one) => (one.ok ? [] : [one.status.message ?? ""]));
}

/** Publishes it again whenever others change or delete it. Lives until the signal aborts. */
export function keepPublished(
  objects: Objects,
  loopback: Loopback,
  config: () => PublishedConfig,
  signal: AbortSignal,
): void {
  objects.onChange(
    configMapKind,
    (next, old) => {
      const { name, namespace } = (next ?? old)?.metadata ?? {};
      if (name !== AUTHENTICATION || namespace !== NAMESPACE) return;
      if (!isPublished(next, config())) void publishAuthentication(loopback, config());
    },
    signal,
  );
}

async function publishAuthentication(loopback: Loopback, config: PublishedConfig) {
  const object = configMap(AUTHENTICATION, authenticationData(config, {}));
  return await loopback.ensure(configMapKind, object, (draft) => {
    draft.data = { ...draft.data, ...authenticationData(config, draft.data ?? {}) };
  });
}

function isPublished(map: ConfigMap | undefined, config: PublishedConfig): boolean {
  const data = map?.data ?? {};
  return Object.entries(authenticationData(config, data)).every(
    ([key, value]) => data[key] === value,
  );
}

/**
 * By this, servers behind the aggregation layer know whom to trust. What other API servers of the
 * cluster have said stays, as long as their certificates are valid.
 */
function authenticationData(
  { clientCaPem, frontProxy, nowMs }: PublishedConfig,
  before: Readonly<Record<string, string>>,
): Record<string, string> {
  const bundle = (key: string, own: string): Record<string, string> => ({
    [key]: joinBundles(before[key] ?? "", own, nowMs),
  });
  const list = (key: string, own: readonly string[]): Record<string, string> => ({
    [key]: JSON.stringify([...new Set([...listIn(before[key]), ...own])]),
  });
  return {
    ...(clientCaPem === undefined ? {} : bundle("client-ca-file", clientCaPem)),
    ...(frontProxy === undefined
      ? {}
      : {
          ...bundle("requestheader-client-ca-file", frontProxy.caPem),
          ...list("requestheader-allowed-names", frontProxy.allowedNames),
          ...list("requestheader-username-headers", frontProxy.usernameHeaders),
          ...(frontProxy.uidHeaders.length === 0
            ? {}
            : list("requestheader-uid-headers", frontProxy.uidHeaders)),
          ...list("requestheader-group-headers", frontProxy.groupHeaders),
          ...list("requestheader-extra-headers-prefix", frontProxy.extraHeaderPrefixes),
        }),
  };
}

function listIn(json = "[]"): readonly string[] {
  try {
    return JSON.parse(json) as string[];
  } catch {
    return [];
  }
}

function joinBundles(before: string, own: string, nowMs: number): string {
  const blocks = new Set([before, own].flatMap((text) => certificatesIn(text)));
  const valid = [...blocks].filter((pem) => isValidAt(pem, nowMs));
  return valid.map((pem) => `${pem}\n`).join("");
}

function isValidAt(pem: string, nowMs: number): boolean {
  try {
    return Date.parse(new X509Certificate(pem).validTo) > nowMs;
  } catch {
    return false;
  }
}

const NAMESPACE = "kube-system";

function configMap(name: string, data: Record<string, string>): ConfigMap {
  return {
    kind: "ConfigMap",
    apiVersion: "v1",
    metadata: { name, namespace: NAMESPACE },
    data,
  };
}
