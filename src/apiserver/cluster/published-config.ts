/** What the server tells others about itself in ConfigMaps. */

import { configMapKind } from "#api/core/v1/config-map.ts";
import type { ConfigMap } from "#api/generated/core.v1.ts";
import { timeFromMs } from "#api/meta/time.ts";
import type { FrontProxyOptions } from "../authn/front-proxy.ts";
import type { Loopback } from "./loopback.ts";

export interface PublishedConfig {
  readonly clientCaPem: string | undefined;
  readonly frontProxy: (FrontProxyOptions & { readonly caPem: string }) | undefined;
  readonly nowMs: number;
}

/** Returns what went wrong. */
export async function publishConfig(
  loopback: Loopback,
  config: PublishedConfig,
): Promise<string[]> {
  const authentication = authenticationConfig(config);
  const tracking = configMap("kube-apiserver-legacy-service-account-token-tracking", {
    since: timeFromMs(config.nowMs).slice(0, 10),
  });
  const written = await Promise.all([
    loopback.ensure(configMapKind, authentication, (draft) => {
      draft.data = { ...draft.data, ...authentication.data };
    }),
    loopback.ensure(configMapKind, tracking),
  ]);
  return written.flatMap((one) => (one.ok ? [] : [one.status.message ?? ""]));
}

/** By this, servers behind the aggregation layer know whom to trust. */
function authenticationConfig({ clientCaPem, frontProxy }: PublishedConfig): ConfigMap {
  return configMap("extension-apiserver-authentication", {
    ...(clientCaPem === undefined ? {} : { "client-ca-file": clientCaPem }),
    ...(frontProxy === undefined
      ? {}
      : {
          "requestheader-client-ca-file": frontProxy.caPem,
          "requestheader-allowed-names": JSON.stringify(frontProxy.allowedNames),
          "requestheader-username-headers": JSON.stringify(frontProxy.usernameHeaders),
          "requestheader-uid-headers": JSON.stringify(frontProxy.uidHeaders),
          "requestheader-group-headers": JSON.stringify(frontProxy.groupHeaders),
          "requestheader-extra-headers-prefix": JSON.stringify(frontProxy.extraHeaderPrefixes),
        }),
  });
}

function configMap(name: string, data: Record<string, string>): ConfigMap {
  return {
    kind: "ConfigMap",
    apiVersion: "v1",
    metadata: { name, namespace: "kube-system" },
    data,
  };
}
