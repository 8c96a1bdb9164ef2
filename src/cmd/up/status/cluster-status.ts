/** The data of `k8ts status` for the cluster on a data directory. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { componentStatusKind } from "#api/kinds/core/v1/component-status.ts";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { Client } from "#client/client.ts";
import { HttpsTransport } from "#client/https-transport.ts";
import { connectionFromFile } from "#client/kubeconfig.ts";
import { messageOf } from "#lib/caught.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { dashboardUrl } from "../dashboard-url.ts";
import {
  INVENTORY_LABEL,
  INVENTORY_NAMESPACE,
  inventoryOf,
} from "../manifests/manifest-inventory.ts";
import { runningProcess } from "../pid-file.ts";

export interface ClusterStatus {
  readonly dataDir: string;
  readonly state: "stopped" | "unreachable" | "running";
  readonly pid?: number;
  readonly server?: string;
  /** The URL of the dashboard that it serves. */
  readonly dashboard?: string;
  /** Why the API server does not answer. */
  readonly problem?: string;
  readonly components?: readonly ComponentState[];
  readonly nodes?: { readonly total: number; readonly ready: number };
  readonly pods?: number;
  /** What is wrong with the manifests that the cluster applies. */
  readonly manifestFaults?: readonly string[];
}

export interface ComponentState {
  readonly name: string;
  readonly healthy: boolean;
  readonly message: string;
}

const TIMEOUT_MS = 5_000;
const NODES_MAX = 10_000;

export async function readClusterStatus(
  dataDir: string,
  surroundings: { readonly clock: Clock; readonly random: Random },
  signal: AbortSignal,
): Promise<ClusterStatus> {
  const running = runningProcess(dataDir);
  const kubeconfig = join(dataDir, "admin.kubeconfig");
  if (running === undefined || !existsSync(kubeconfig)) return { dataDir, state: "stopped" };
  const { pid } = running;
  const connection = connectionFromFile(kubeconfig);
  const { server } = connection;
  using transport = new HttpsTransport(connection, "k8ts-status");
  const client = new Client({ transport, ...surroundings, fieldManager: "k8ts-status" });
  try {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
    const dashboard = dashboardUrl(dataDir);
    const served = dashboard === undefined ? {} : { dashboard };
    return { dataDir, state: "running", pid, server, ...served, ...(await ask(client, limited)) };
  } catch (error) {
    signal.throwIfAborted();
    return { dataDir, state: "unreachable", pid, server, problem: messageOf(error) };
  }
}

async function ask(
  client: Client,
  signal: AbortSignal,
): Promise<Pick<ClusterStatus, "components" | "nodes" | "pods" | "manifestFaults">> {
  const inventories = { namespace: INVENTORY_NAMESPACE, labelSelector: INVENTORY_LABEL };
  const [components, nodes, pods, manifests] = await Promise.all([
    client.list(componentStatusKind, {}, signal),
    client.list(nodeKind, { limit: NODES_MAX }, signal),
    client.list(podKind, { limit: 1 }, signal),
    client.list(configMapKind, inventories, signal),
  ]);
  for (const result of [components, nodes, pods, manifests]) {
    if (!result.ok) throw new Error(result.status.message);
  }
  if (!components.ok || !nodes.ok || !pods.ok || !manifests.ok) throw new Error("unreachable");
  const ready = nodes.value.items.filter(({ status }) =>
    status?.conditions?.some(
      (condition) => condition.type === "Ready" && condition.status === "True",
    ),
  );
  return {
    components: components.value.items.map(({ metadata, conditions }) => {
      const health = conditions?.find(({ type }) => type === "Healthy");
      const message = health?.message ?? health?.error ?? "";
      return { name: metadata.name ?? "", healthy: health?.status === "True", message };
    }),
    nodes: { total: nodes.value.items.length, ready: ready.length },
    pods: pods.value.items.length + Number(pods.value.metadata.remainingItemCount ?? 0),
    manifestFaults: manifests.value.items.flatMap((one) => inventoryOf(one).faults),
  };
}
