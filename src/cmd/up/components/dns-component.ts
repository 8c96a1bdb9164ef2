/**
 * DNS as a component of `k8ts up`: it listens on the node's address, for pods and the machine itself
 * only, and the Service `kube-dns` leads to it. Its port is any free one, so that another DNS server of
 * the machine is not in its way.
 */
import { readFileSync } from "node:fs";
import { Client } from "#client/client.ts";
import { nameServersIn, UPSTREAMS_MAX, type Upstream } from "#dns/forward/resolv-conf.ts";
import { runDns } from "#dns/run-dns.ts";
import { untilAborted } from "#lib/async/aborted.ts";
import { readyAndDone } from "#lib/async/ready-and-done.ts";
import { messageOf } from "#lib/caught.ts";
import { isLoopback } from "#lib/loopback.ts";
import {
  DNS_CONFIG_MAP,
  DNS_USER,
  dnsAddress,
  ensureDnsAccess,
  ensureKubeDns,
} from "../../dns/kube-dns.ts";
import { allowedSources } from "../allowed-sources.ts";
import type { ClusterContext, RunComponent } from "../component.ts";
import { podRangesOf } from "../pod-ranges.ts";

const ADMIN = { name: "system:admin", groups: ["system:masters", "system:authenticated"] };
const ACCOUNT = {
  name: DNS_USER,
  groups: ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"],
};
const FIELD_MANAGER = "k8ts-dns";
const RESOLV_CONF = "/etc/resolv.conf";

export const runDnsComponent: RunComponent = (cluster, signal) =>
  readyAndDone((onReady) => run(cluster, onReady, signal));

async function run(
  cluster: ClusterContext,
  onReady: () => void,
  signal: AbortSignal,
): Promise<void> {
  const { clock, random, logger, metrics, flags, nodeSubnets } = cluster;
  const address = cluster.server().advertiseAddress;
  const [range = ""] = flags.server.serviceClusterIpRange;
  if (isLoopback(address)) {
    onReady(); // a machine without any network: pods have no way to it
    return untilAborted(signal);
  }
  const clientAs = (user: typeof ADMIN): Client => {
    const transport = cluster.transportAs(user, FIELD_MANAGER);
    return new Client({ transport, clock, random, fieldManager: FIELD_MANAGER });
  };
  const admin = clientAs(ADMIN);
  await ensureDnsAccess(admin, signal);
  const dns = runDns(
    {
      ...{ client: clientAs(ACCOUNT), clock, random, logger, metrics },
      ...{ addresses: [address], port: 0, upstreams: nodeUpstreams() },
      ...{ configMap: DNS_CONFIG_MAP, readFile: readSystemFile },
      isAllowed: allowedSources([
        ...podRangesOf(flags.server.serviceClusterIpRange, flags.simulate),
        ...nodeSubnets,
      ]),
    },
    signal,
  );
  const { port } = await dns.listening;
  const place = { clusterIp: dnsAddress(range), address, port };
  try {
    const isOurs = await ensureKubeDns(admin, place, signal);
    if (!isOurs) logger.info("kube-dns is served by pods of the cluster");
  } catch (error) {
    // Another Service may have its address: no reason to end the cluster.
    logger.warn("the Service kube-dns could not be made", { error: messageOf(error) });
  }
  await Promise.race([dns.ready, untilAborted(signal)]);
  onReady();
  await dns.done;
}

/** The files that a Corefile in the cluster may name. */
function readSystemFile(path: string): string {
  if (path === RESOLV_CONF || path === "/etc/hosts") return readFileSync(path, "utf8");
  throw new Error(`${path} may not be read`);
}

/** The machine's own name servers; none if it has none. */
function nodeUpstreams(): readonly Upstream[] {
  try {
    return nameServersIn(readFileSync(RESOLV_CONF, "utf8")).slice(0, UPSTREAMS_MAX);
  } catch {
    return [];
  }
}
