/** What API servers in tests have in common: nothing of the machine, and everything is allowed. */
import { builtInKinds } from "#api/kinds/built-in-kinds.ts";
import { NO_DESCRIPTIONS } from "#api/openapi/definition.ts";
import type { SecurityOptions } from "#apiserver/request/security.ts";
import type { ApiServerOptions } from "#apiserver/server.ts";
import { silentLogger } from "#lib/logger.ts";
import { Metrics } from "#lib/metrics.ts";
import { newKey, privateKeyPem } from "#pki/key-pair.ts";
import type { NodeAccess } from "./node-access.ts";

export function testServerOptions(
  nodeAccess?: NodeAccess,
): Omit<
  ApiServerOptions,
  "store" | "clock" | "random" | "serviceRanges" | "nodePorts" | "security" | "admission"
> {
  return {
    kinds: builtInKinds,
    storeIsLocal: true,
    logger: silentLogger,
    allowPrivileged: true,
    eventTtlSeconds: 3600,
    storedForm: "json",
    descriptions: () => NO_DESCRIPTIONS,
    metrics: new Metrics(),
    kubelets: {
      addressTypes: ["InternalIP"],
      tls: () => nodeAccess?.tls() ?? { verify: false },
      connect:
        nodeAccess === undefined ? undefined : (host, port) => nodeAccess.connect(host, port),
    },
    externalAddress: "127.0.0.1:6443",
  };
}

export function testSecurityOptions(issuer: string): Omit<SecurityOptions, "clock" | "random"> {
  const signingKeyPem = privateKeyPem(newKey().privateKey);
  const names = { issuers: [issuer], audiences: [issuer] };
  const limits = { expirationSecondsMax: 0, extendExpiration: true };
  return {
    modes: ["AlwaysAllow"],
    anonymous: { enabled: false },
    oidc: [],
    bootstrapTokens: false,
    serviceAccounts: { keys: [signingKeyPem], signingKeyPem, ...names, ...limits },
  };
}
