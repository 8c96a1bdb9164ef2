/**
 * What machines need to join, as a component of `k8ts up`: only where the API server listens on more than
 * loopback, because others cannot reach it anyway.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "#client/client.ts";
import { untilAborted } from "#lib/async/aborted.ts";
import { networkMarks } from "#network/network-marks.ts";
import { dnsAddress } from "../../dns/kube-dns.ts";
import { ensureJoinObjects } from "../../join/join-objects.ts";
import type { ClusterContext, RunComponent } from "../component.ts";
import { podRangesOf } from "../pod-ranges.ts";

const ADMIN = { name: "system:admin", groups: ["system:masters", "system:authenticated"] };
const FIELD_MANAGER = "k8ts-join";

export const runJoin: RunComponent = (cluster, signal) => ({
  ready: publish(cluster, signal),
  done: untilAborted(signal),
});

async function publish(cluster: ClusterContext, signal: AbortSignal): Promise<void> {
  const { clock, random, flags } = cluster;
  const { advertiseAddress, port } = cluster.server();
  const { dataDir, serviceClusterIpRange: serviceRanges } = flags.server;
  const transport = cluster.transportAs(ADMIN, FIELD_MANAGER);
  const client = new Client({ transport, clock, random, fieldManager: FIELD_MANAGER });
  const host = advertiseAddress.includes(":") ? `[${advertiseAddress}]` : advertiseAddress;
  await ensureJoinObjects(
    client,
    {
      server: flags.controlPlaneEndpoint ?? `https://${host}:${port}`,
      authorityPem: readFileSync(join(dataDir, "pki", "ca.crt"), "utf8"),
      clusterDns: serviceRanges.slice(0, 1).map(dnsAddress),
      ...{ podRanges: podRangesOf(serviceRanges, flags.simulate), serviceRanges },
      ...{ podNetwork: flags.podNetwork, networkPolicy: flags.networkPolicy },
      proxyMode: flags.proxyMode,
      vni: flags.vxlanId ?? networkMarks(dataDir).vni,
    },
    signal,
  );
}
