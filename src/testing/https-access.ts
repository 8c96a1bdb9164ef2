/** Serves a test cluster over HTTPS on loopback, for clients outside of the test's process. */
import { startHttpServer } from "#apiserver/http/http-server.ts";
import { expire, serve } from "#apiserver/http/serve.ts";
import { serveUpgrade } from "#apiserver/http/serve-upgrade.ts";
import type { ApiServer } from "#apiserver/server.ts";
import { silentLogger } from "#lib/logger.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { formatKubeconfig } from "#pki/kubeconfig.ts";
import { newTestAuthority } from "./test-authority.ts";

export interface HttpsAccess extends AsyncDisposable {
  /** Of an administrator. */
  readonly kubeconfig: string;
}

const TIMEOUT_MS = 60_000;

/** Connections and certificates go by the system's clock: the clients' time is not virtual. */
export async function openHttpsAccess(api: ApiServer): Promise<HttpsAccess> {
  const authority = newTestAuthority();
  const serving = authority.issue({ commonName: "k8ts-test" }, "server auth");
  const admin = { commonName: "admin", organizations: ["system:masters"] };
  const client = authority.issue(admin, "client auth");
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
