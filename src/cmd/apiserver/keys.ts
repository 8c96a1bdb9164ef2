/** The server's keys and certificates: those that the flags name, all others made by itself. */
import { readFileSync } from "node:fs";
import type { SecureContextOptions } from "node:tls";
import type { ClientAuthorities } from "#apiserver/authn/peer-certificate.ts";
import { firstAddress } from "#apiserver/cluster/kubernetes-service.ts";
import type { PublishedConfig } from "#apiserver/cluster/published-config.ts";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/logger.ts";
import { ClusterPki, servingNames } from "#pki/cluster-pki.ts";
import { type KeyPair, parseCertificate, parsePrivateKey, readKeyPair } from "#pki/key-pair.ts";
import { watchFiles } from "#pki/watch-files.ts";
import type { ApiServerFlags } from "./flags.ts";
import { frontProxyOf } from "./front-proxy.ts";

export interface Keys {
  readonly serviceAccountKeyPem: string;
  readonly clientCaPem: string;
  /** What kubelets are shown; asked for anew for each connection, since it is renewed. */
  kubeletClient(): KeyPair;
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
  checkFiles(flags);
  const names = [
    advertiseAddress,
    ...flags.serviceClusterIpRange.map(firstAddress), // of the `kubernetes` Service
    ...(flags.externalHostname ? [flags.externalHostname] : []),
  ];
  const pki = ClusterPki.open({
    directory: flags.dataDir,
    servingNames: servingNames("cluster.local", hostname, names),
    serverUrl: `https://127.0.0.1:${flags.securePort}`,
    clock,
    logger,
  });
  const listeners = new Set<() => void>();
  const read = new Map<string, string>(); // until the files change
  const given = (file: string | undefined, made: string): string => {
    if (file === undefined) return made;
    const text = read.get(file) ?? readPem(file);
    read.set(file, text);
    return text;
  };
  const clientCa = (): string => given(flags.clientCaFile, pki.material.clientCaPem);
  const frontProxyCa = (): string =>
    given(flags.requestheaderClientCaFile, pki.material.frontProxyCaPem);
  const { serviceAccountKeyPem } = pki.material;

  return {
    clientCaPem: clientCa(),
    serviceAccountKeyPem: given(flags.serviceAccountSigningKeyFile, serviceAccountKeyPem),
    kubeletClient: () => {
      const { certificatePem, keyPem } = pki.material.kubeletClient;
      return {
        certificatePem: given(flags.kubeletClientCertificate, certificatePem),
        keyPem: given(flags.kubeletClientKey, keyPem),
      };
    },
    published: {
      clientCaPem: clientCa(),
      frontProxy: { ...frontProxyOf(flags), caPem: frontProxyCa() },
    },
    authorities: () => ({ clientCaPem: clientCa(), frontProxyCaPem: frontProxyCa() }),
    tlsContext: () => ({
      key: given(flags.tlsPrivateKeyFile, pki.material.serving.keyPem),
      cert: given(flags.tlsCertFile, pki.material.serving.certificatePem),
      ca: [clientCa(), frontProxyCa()],
    }),
    onRenewal: (listener) => {
      listeners.add(listener);
      pki.onRenewal(listener);
    },
    run: (signal) => {
      const files = [
        flags.tlsCertFile,
        flags.tlsPrivateKeyFile,
        flags.clientCaFile,
        flags.requestheaderClientCaFile,
        flags.kubeletClientCertificate,
        flags.kubeletClientKey,
      ].filter((file) => file !== undefined);
      const changed = (): void => {
        read.clear();
        try {
          for (const listener of listeners) listener();
          logger.info("certificates were replaced");
        } catch (error) {
          logger.error("the new certificates cannot be used; the old ones stay", { error });
        }
      };
      if (files.length > 0) watchFiles(files, changed, clock, signal);
      return pki.run(signal);
    },
  };
}

/** What is in the files can be used, before anything is made or opened. */
function checkFiles(flags: ApiServerFlags): void {
  for (const file of [flags.clientCaFile, flags.requestheaderClientCaFile]) {
    if (file !== undefined) parseCertificate(readPem(file), file);
  }
  const { tlsCertFile, tlsPrivateKeyFile, serviceAccountSigningKeyFile: signing } = flags;
  if (tlsCertFile !== undefined && tlsPrivateKeyFile !== undefined) {
    readKeyPair(tlsCertFile, tlsPrivateKeyFile);
  }
  if (signing !== undefined) parsePrivateKey(readPem(signing), signing);
}

export function readPem(file: string): string {
  return readFileSync(file, "utf8");
}
