/** Serves a test cluster over HTTPS on loopback, for clients outside of the test's process. */
import { startHttpServer } from "#apiserver/http/http-server.ts";
import { expire, serve } from "#apiserver/http/serve.ts";
import { serveUpgrade } from "#apiserver/http/serve-upgrade.ts";
import type { ApiServer } from "#apiserver/server.ts";
import { silentLogger } from "#lib/logger.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { issueCertificate } from "#pki/certificate.ts";
import { type KeyPair, newKey, privateKeyPem } from "#pki/key-pair.ts";
import { formatKubeconfig } from "#pki/kubeconfig.ts";
import type { Subject } from "#pki/subject.ts";

export interface HttpsAccess extends AsyncDisposable {
  /** Of an administrator. */
  readonly kubeconfig: string;
}

const TIMEOUT_MS = 60_000;
const YEAR_MS = 365 * 86_400_000;

/** Connections and certificates go by the system's clock: the clients' time is not virtual. */
export async function openHttpsAccess(api: ApiServer): Promise<HttpsAccess> {
  const { authority, serving, client } = newKeys();
  const server = await startHttpServer({
    tls: {
      context: {
        key: serving.keyPem,
        cert: serving.certificatePem,
        ca: [authority.certificatePem],
      },
      authorities: { clientCaPem: authority.certificatePem },
    },
    host: "127.0.0.1",
    port: 0,
    clock: systemClock,
    logger: silentLogger,
    timeoutMs: TIMEOUT_MS,
    expire: (request, reply) => expire(api, request, reply),
    handshakeFailed: () => api.handshakeFailed(),
    handle: (request, reply) => serve(api, request, reply),
    upgrade: (request, peer, socket, head) => serveUpgrade(api, request, peer, socket, head),
  });
  return {
    kubeconfig: formatKubeconfig({
      server: `https://127.0.0.1:${server.port}`,
      authorityPem: authority.certificatePem,
      user: "admin",
      client,
    }),
    [Symbol.asyncDispose]: () => server.close(0),
  };
}

/**
 * Valid from 1971 for a hundred years: Node checks certificates by the system's time, the API server by
 * the virtual time of the cluster.
 */
function newKeys() {
  const authorityKey = newKey();
  const validity = { notBeforeMs: YEAR_MS, notAfterMs: 100 * YEAR_MS };
  const authorityPem = issueCertificate(
    {
      subject: { commonName: "k8ts-test" },
      publicKey: authorityKey.publicKey,
      usages: ["digital signature", "key encipherment", "cert sign"],
      authority: true,
      ...validity,
    },
    { key: authorityKey.privateKey },
  );
  const authority = { certificatePem: authorityPem, key: authorityKey.privateKey };
  const issue = (subject: Subject, usage: "server auth" | "client auth"): KeyPair => {
    const { privateKey, publicKey } = newKey();
    const usages = ["digital signature", "key encipherment", usage] as const;
    const altNames = usage === "server auth" ? { altNames: ["localhost", "127.0.0.1"] } : {};
    const certificatePem = issueCertificate(
      { subject, publicKey, usages, ...altNames, ...validity },
      authority,
    );
    return { certificatePem, keyPem: privateKeyPem(privateKey) };
  };
  return {
    authority,
    serving: issue({ commonName: "k8ts-test" }, "server auth"),
    client: issue({ commonName: "admin", organizations: ["system:masters"] }, "client auth"),
  };
}
