/**
 * The metrics server as a component of `k8ts up`, with the rights of its service account. It listens on
 * loopback, or, where pods could use it, on the node's address for pods and the machine itself only.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "#client/client.ts";
import { nextTurn } from "#lib/async/next-turn.ts";
import { messageOf } from "#lib/caught.ts";
import { isLoopback } from "#lib/loopback.ts";
import { DEFAULT_RESOLUTION_MS } from "#metrics/run-metrics-server.ts";
import type { KubeletAccess, KubeletTls } from "#metrics/scrape/kubelet-fetch.ts";
import { issueLeaf, openAuthority } from "#pki/authority.ts";
import { ensureMetricsAccess, METRICS_USER } from "../../metrics-server/metrics-access.ts";
import { METRICS_HOST, registerMetrics } from "../../metrics-server/register-metrics.ts";
import { startMetricsServer } from "../../metrics-server/start-metrics-server.ts";
import { allowedSources } from "../allowed-sources.ts";
import type { ClusterContext, RunComponent } from "../component.ts";
import { podRangesOf } from "../pod-ranges.ts";

const ADMIN = { name: "system:admin", groups: ["system:masters", "system:authenticated"] };
const GROUPS = ["system:serviceaccounts", "system:serviceaccounts:kube-system"];
const ACCOUNT = { name: METRICS_USER, groups: [...GROUPS, "system:authenticated"] };
const FIELD_MANAGER = "metrics-server";

/** `hasPods`: whether there are real nodes, whose pods may use it. */
export function runMetrics(hasPods: boolean): RunComponent {
  return (cluster, signal) => ({
    ready: Promise.resolve(),
    done: run(cluster, hasPods, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error; // stopped while it started
    }),
  });
}

async function run(cluster: ClusterContext, hasPods: boolean, signal: AbortSignal): Promise<void> {
  const { clock, random, logger, flags, nodeSubnets } = cluster;
  const { advertiseAddress } = cluster.server();
  const address = hasPods && !isLoopback(advertiseAddress) ? advertiseAddress : undefined;
  const clientAs = (user: typeof ADMIN): Client => {
    const transport = cluster.transportAs(user, FIELD_MANAGER);
    return new Client({ transport, clock, random, fieldManager: FIELD_MANAGER });
  };
  const admin = clientAs(ADMIN);
  await ensureMetricsAccess(admin, signal);
  await nextTurn(); // making certificates takes a while
  const { tls, kubelets, caPem } = certificatesOf(cluster);
  const ranges = podRangesOf(flags.server.serviceClusterIpRange, flags.simulate);
  const server = await startMetricsServer(
    {
      ...{ client: clientAs(ACCOUNT), clock, random, logger, tls, kubelets },
      ...{ host: address ?? "localhost", port: 0, nodeSelector: "" },
      resolutionMs: DEFAULT_RESOLUTION_MS,
      sampleOf: (node) => cluster.simulated.usageOf?.(node),
      ...(address === undefined ? {} : { isAllowed: allowedSources([...ranges, ...nodeSubnets]) }),
    },
    signal,
  );
  try {
    const place = { address, port: server.port, caPem };
    const others = await registerMetrics(admin, place, server.groups, signal);
    if (others.length > 0) logger.info("metrics are served by others", { apiServices: others });
  } catch (error) {
    // No reason to end the cluster.
    if (!signal.aborted) {
      logger.warn("the metrics server could not be registered", { error: messageOf(error) });
    }
  }
  await server.done;
}

interface Certificates {
  readonly tls: { readonly cert: string; readonly key: string };
  readonly kubelets: KubeletAccess;
  readonly caPem: string;
}

/** Kubelets are verified where the API server verifies them. */
function certificatesOf({ flags: { server }, clock }: ClusterContext): Certificates {
  const nowMs = clock.nowMs();
  const authority = openAuthority(join(server.dataDir, "pki", "ca"), "kubernetes", nowMs);
  const serving = issueLeaf(
    authority,
    {
      subject: { commonName: METRICS_HOST },
      purpose: "server auth",
      altNames: [METRICS_HOST, "localhost"],
    },
    nowMs,
  );
  const client = issueLeaf(
    authority,
    { subject: { commonName: METRICS_USER, organizations: GROUPS }, purpose: "client auth" },
    nowMs,
  );
  return {
    tls: { cert: serving.certificatePem, key: serving.keyPem },
    caPem: authority.certificatePem,
    kubelets: {
      ...{ addressTypes: ["InternalIP", "ExternalIP", "Hostname"], useReportedPort: true },
      tls: { cert: client.certificatePem, key: client.keyPem, ...verification(server) },
    },
  };
}

function verification({
  kubeletCertificateAuthority: file,
}: ClusterContext["flags"]["server"]): Pick<KubeletTls, "ca" | "verify"> {
  if (file === undefined) return { verify: "nothing" };
  return { ca: readFileSync(file, "utf8"), verify: "chain and name" };
}
