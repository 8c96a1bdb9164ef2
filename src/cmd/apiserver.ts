/** `k8ts apiserver`: the API server alone. */
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { Command as Parser } from "commander";
import { builtInKinds } from "#api/kinds.ts";
import { admissionPlugins } from "#apiserver/admission/registry.ts";
import { peerOf } from "#apiserver/authn/peer-certificate.ts";
import { createEscalationCheck } from "#apiserver/authz/escalation.ts";
import { reconcileAccess, reconcileFlowControl } from "#apiserver/bootstrap/reconcile.ts";
import { isStable } from "#apiserver/discovery.ts";
import { startHttpServer } from "#apiserver/http-server.ts";
import { createSecurity } from "#apiserver/security.ts";
import { serve } from "#apiserver/serve.ts";
import { startApiServer } from "#apiserver/server.ts";
import { createLogger } from "#lib/logger.ts";
import { systemRandom } from "#lib/random.ts";
import { systemClock } from "#lib/system-clock.ts";
import { ClusterPki, servingNames } from "#pki/cluster-pki.ts";
import { createMemoryStore } from "#store/memory.ts";
import type { Command } from "./command.ts";

export const apiserverCommand: Command = {
  name: "apiserver",
  summary: "run the API server",
  run: async (args, signal) => {
    const parser = new Parser("k8ts apiserver")
      .option("--data-dir <dir>", "store and keys", "k8ts-data")
      .option("--secure-port <port>", "HTTPS port", "6443")
      .option("--bind-address <ip>", "address to listen on", "0.0.0.0")
      .option("--token-auth-file <file>", "static tokens")
      .option("--service-cluster-ip-range <cidr>", "addresses of services", "10.96.0.0/12");
    parser.parse([...args], { from: "user" });
    const options = parser.opts<Record<string, string>>();
    const clock = systemClock;
    const logger = createLogger({
      level: "info",
      clock,
      format: "pretty",
      write: (line) => process.stderr.write(line),
    });
    const port = Number(options.securePort);
    const pki = ClusterPki.open({
      directory: options.dataDir!,
      servingNames: servingNames("cluster.local", hostname(), []),
      serverUrl: `https://127.0.0.1:${port}`,
      clock,
      logger,
    });
    const api = await startApiServer(
      {
        kinds: builtInKinds,
        isServed: isStable,
        store: createMemoryStore({ clock }),
        storeIsLocal: true,
        clock,
        random: systemRandom,
        logger,
        allowPrivileged: true,
        eventTtlSeconds: 3600,
        storedForm: "json",
        serviceRanges: (options.serviceClusterIpRange ?? "").split(","),
        nodePorts: { first: 30_000, last: 32_767 },
        externalAddress: `127.0.0.1:${port}`,
        security: (objects, ending) =>
          createSecurity(
            {
              modes: ["Node", "RBAC"],
              anonymous: true,
              bootstrapTokens: true,
              ...(options.tokenAuthFile ? { tokenFile: readTokenFile(options.tokenAuthFile) } : {}),
              serviceAccounts: {
                keys: [pki.material.serviceAccountKeyPem],
                signingKeyPem: pki.material.serviceAccountKeyPem,
                issuers: [SERVICE_ACCOUNT_ISSUER],
                audiences: [SERVICE_ACCOUNT_ISSUER],
                expirationSecondsMax: 0,
                extendExpiration: true,
              },
              clock,
              random: systemRandom,
            },
            objects,
            ending,
          ),
        admission: (_objects, security) => [
          ...admissionPlugins(
            {
              authorizer: security.authorizer,
              clock,
              random: systemRandom,
              tolerationSeconds: { notReady: 300, unreachable: 300 },
              mutating: [],
              validating: [],
            },
            { enable: [], disable: [] },
          ),
          createEscalationCheck(security.rules, security.authorizer),
        ],
      },
      signal,
    );
    for (const reconcile of [reconcileAccess, reconcileFlowControl]) {
      for (const fault of await reconcile(api.objects)) {
        logger.warn("a bootstrap object could not be written", { fault });
      }
    }
    const { serving, clientCaPem, frontProxyCaPem } = pki.material;
    const server = await startHttpServer({
      tls: {
        context: {
          key: serving.keyPem,
          cert: serving.certificatePem,
          ca: [clientCaPem, frontProxyCaPem],
        },
        identify: (socket) => peerOf(socket, { clientCaPem, frontProxyCaPem }),
      },
      host: options.bindAddress!,
      port,
      clock,
      logger,
      handle: (request, reply) => serve(api.handle, clock, request, reply),
      upgrade: async (_request, socket) => void socket.destroy(),
    });
    logger.info("API server is ready", { port: server.port });
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    await server.close(1_500);
    return 0;
  },
};

const SERVICE_ACCOUNT_ISSUER = "https://kubernetes.default.svc.cluster.local";

function readTokenFile(path: string): { path: string; text: string } {
  return { path, text: readFileSync(path, "utf8") };
}
