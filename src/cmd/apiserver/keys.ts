/** The server's keys and certificates: those that the flags name, all others made by itself. */
import { readFileSync } from "node:fs";
import type { SecureContextOptions } from "node:tls";
import type { ClientAuthorities } from "#apiserver/authn/peer-certificate.ts";
import { firstAddress } from "#apiserver/cluster/kubernetes-service.ts";
import type { PublishedConfig } from "#apiserver/cluster/published-config.ts";
import type { NamedCertificate } from "#apiserver/http/named-certificates.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";
import { ClusterPki, servingNames } from "#pki/cluster-pki.ts";
import { type KeyPair, parseCertificate, parsePrivateKey, readKeyPair } from "#pki/key-pair.ts";
import { localUrl } from "#pki/local-url.ts";
import { watchFiles } from "#pki/watch-files.ts";
import type { ApiServerFlags } from "./flags/flags.ts";
import { frontProxyOf } from "./front-proxy.ts";

export interface Keys {
  readonly serviceAccountKeyPem: string;
  /** What kubelets are shown; asked for anew for each connection, since it is renewed. */
  kubeletClient(): KeyPair;
  /** What aggregated API servers are shown. */
  frontProxyClient(): KeyPair;
  published(): Omit<PublishedConfig, "nowMs">;
  authorities(): ClientAuthorities;
  tlsContext(): SecureContextOptions & { ca: string[] };
  /** For clients that ask for a host by name. */
  namedCertificates(): NamedCertificate[];
  onRenewal(listener: () => void): void;
  /** Lets the kubeconfigs name the port that the system chose, where --secure-port is 0. */
  listeningOn(port: number): void;
  /** Renews what comes due. Lives until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

export function openKeys(
  flags: ApiServerFlags,
  { clock, logger, hostname }: { clock: Clock; logger: Logger; hostname: string },
  advertiseAddress: string,
): Keys {
  let texts = readFiles(flags);
  const pki = ClusterPki.open({
    directory: flags.dataDir,
    servingNames: servingNames("cluster.local", hostname, addressesOf(flags, advertiseAddress)),
    serverUrl: localUrl(flags.bindAddress, flags.securePort),
    clock,
    logger,
  });
  const listeners = new Set<() => void>();
  const given = (file: string | undefined, made: string): string =>
    file === undefined ? made : (texts.get(file) ?? readPem(file));
  const clientCa = (): string => given(flags.clientCaFile, pki.material.clientCaPem);
  const frontProxyCa = (): string =>
    given(flags.requestheaderClientCaFile, pki.material.frontProxyCaPem);
  const changed = (): void => {
    try {
      texts = readFiles(flags);
      for (const listener of listeners) listener();
      logger.info("certificates were replaced");
    } catch (error) {
      logger.error("the new certificates cannot be used; the old ones stay", { error });
    }
  };
  const { serviceAccountKeyPem } = pki.material;
  return {
    serviceAccountKeyPem: given(flags.serviceAccountSigningKeyFile, serviceAccountKeyPem),
    kubeletClient: () => {
      const { certificatePem, keyPem } = pki.material.kubeletClient;
      return {
        certificatePem: given(flags.kubeletClientCertificate, certificatePem),
        keyPem: given(flags.kubeletClientKey, keyPem),
      };
    },
    frontProxyClient: () => {
      const { certificatePem, keyPem } = pki.material.frontProxyClient;
      return {
        certificatePem: given(flags.proxyClientCertFile, certificatePem),
        keyPem: given(flags.proxyClientKeyFile, keyPem),
      };
    },
    published: () => ({
      clientCaPem: clientCa(),
      frontProxy: { ...frontProxyOf(flags), caPem: frontProxyCa() },
    }),
    authorities: () => ({ clientCaPem: clientCa(), frontProxyCaPem: frontProxyCa() }),
    tlsContext: () => ({
      key: given(flags.tlsPrivateKeyFile, pki.material.serving.keyPem),
      cert: given(flags.tlsCertFile, pki.material.serving.certificatePem),
      ca: [clientCa(), frontProxyCa()],
    }),
    namedCertificates: () =>
      flags.tlsSniCertKey.map(({ certFile, keyFile, names }) => ({
        names,
        cert: texts.get(certFile)!,
        key: texts.get(keyFile)!,
      })),
    onRenewal: (listener) => {
      listeners.add(listener);
      pki.onRenewal(listener);
    },
    listeningOn: (port) => pki.pointAt(localUrl(flags.bindAddress, port)),
    run: (signal) => {
      const files = filesOf(flags);
      if (files.length > 0) watchFiles(files, changed, clock, signal);
      return pki.run(signal);
    },
  };
}

/** Where clients find the server, beside its host's own names. */
function addressesOf(flags: ApiServerFlags, advertiseAddress: string): string[] {
  return [
    advertiseAddress,
    ...flags.serviceClusterIpRange.map(firstAddress), // of the `kubernetes` Service
    ...(flags.externalHostname ? [flags.externalHostname] : []),
    ...(/^(0\.0\.0\.0|::)$/.test(flags.bindAddress) ? [] : [flags.bindAddress]),
    ...flags.tlsSan,
  ];
}

/** Those that may be replaced while the server runs. */
function filesOf(flags: ApiServerFlags): string[] {
  return [
    flags.tlsCertFile,
    flags.tlsPrivateKeyFile,
    flags.clientCaFile,
    flags.requestheaderClientCaFile,
    flags.kubeletClientCertificate,
    flags.kubeletClientKey,
    flags.proxyClientCertFile,
    flags.proxyClientKeyFile,
    ...flags.tlsSniCertKey.flatMap(({ certFile, keyFile }) => [certFile, keyFile]),
  ].filter((file) => file !== undefined);
}

/** What is in the files; throws, before anything is used, if it is of no use. */
function readFiles(flags: ApiServerFlags): ReadonlyMap<string, string> {
  const texts = new Map(filesOf(flags).map((file) => [file, readPem(file)]));
  for (const file of [flags.clientCaFile, flags.requestheaderClientCaFile]) {
    if (file !== undefined) parseCertificate(texts.get(file)!, file);
  }
  for (const [certificate, key] of [
    [flags.tlsCertFile, flags.tlsPrivateKeyFile],
    [flags.kubeletClientCertificate, flags.kubeletClientKey],
    [flags.proxyClientCertFile, flags.proxyClientKeyFile],
    ...flags.tlsSniCertKey.map(({ certFile, keyFile }) => [certFile, keyFile]),
  ]) {
    if (certificate !== undefined && key !== undefined) readKeyPair(certificate, key);
  }
  const { serviceAccountSigningKeyFile: signing } = flags;
  if (signing !== undefined) parsePrivateKey(readPem(signing), signing);
  return texts;
}

export function readPem(file: string): string {
  return readFileSync(file, "utf8");
}
