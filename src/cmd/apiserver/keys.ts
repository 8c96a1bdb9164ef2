/** The server's keys and certificates: those that the flags name, all others made by itself. */
import { readFileSync } from "node:fs";
import type { SecureContextOptions } from "node:tls";
import type { ClientAuthorities } from "#apiserver/authn/peer-certificate.ts";
import type { PublishedConfig } from "#apiserver/cluster/published-config.ts";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/logger.ts";
import { ClusterPki, servingNames } from "#pki/cluster-pki.ts";
import type { KeyPair } from "#pki/key-pair.ts";
import type { ApiServerFlags } from "./flags.ts";

export interface Keys {
  readonly serviceAccountKeyPem: string;
  readonly clientCaPem: string;
  readonly kubeletClient: KeyPair;
  readonly published: Omit<PublishedConfig, "nowMs">;
  authorities(): ClientAuthorities;
  tlsContext(): SecureContextOptions & { ca: string[] };
  onRenewal(listener: () => void): void;
  /** Renews what comes due. Lives until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

export function openKeys(
  flags: ApiServerFlags,
  { clock, logger, hostname }: { clock: Clock; logger: Logger; hostname: string },
  advertiseAddress: string,
): Keys {
  const names = [advertiseAddress, ...(flags.externalHostname ? [flags.externalHostname] : [])];
  const pki = ClusterPki.open({
    directory: flags.dataDir,
    servingNames: servingNames("cluster.local", hostname, names),
    serverUrl: `https://127.0.0.1:${flags.securePort}`,
    clock,
    logger,
  });
  const given = (file: string | undefined, made: string): string =>
    file === undefined ? made : readPem(file);
  const clientCa = (): string => given(flags.clientCaFile, pki.material.clientCaPem);
  const frontProxyCa = (): string =>
    given(flags.requestheaderClientCaFile, pki.material.frontProxyCaPem);
  const { kubeletClient, serviceAccountKeyPem } = pki.material;

  return {
    clientCaPem: clientCa(),
    serviceAccountKeyPem: given(flags.serviceAccountSigningKeyFile, serviceAccountKeyPem),
    kubeletClient: {
      certificatePem: given(flags.kubeletClientCertificate, kubeletClient.certificatePem),
      keyPem: given(flags.kubeletClientKey, kubeletClient.keyPem),
    },
    published: {
      clientCaPem: clientCa(),
      frontProxy:
        flags.requestheaderClientCaFile === undefined
          ? undefined
          : { caPem: frontProxyCa(), allowedNames: flags.requestheaderAllowedNames },
    },
    authorities: () => ({ clientCaPem: clientCa(), frontProxyCaPem: frontProxyCa() }),
    tlsContext: () => ({
      key: given(flags.tlsPrivateKeyFile, pki.material.serving.keyPem),
      cert: given(flags.tlsCertFile, pki.material.serving.certificatePem),
      ca: [clientCa(), frontProxyCa()],
    }),
    onRenewal: (listener) => pki.onRenewal(listener),
    run: (signal) => pki.run(signal),
  };
}

export function readPem(file: string): string {
  return readFileSync(file, "utf8");
}
