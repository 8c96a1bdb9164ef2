/**
 * The Ingress controller as a component of `k8ts up`. It listens on free ports of the node's address, and
 * a Service of type LoadBalancer leads to them, so that another web server of the machine is not in its way.
 */
import { Client } from "#client/client.ts";
import { runIngress } from "#ingress/run-ingress.ts";
import { untilAborted } from "#lib/async/aborted.ts";
import { readyAndDone } from "#lib/async/ready-and-done.ts";
import { messageOf } from "#lib/caught.ts";
import { isLoopback } from "#lib/loopback.ts";
import { servingCertificate } from "../../component/serving-certificate.ts";
import {
  ensureIngressAccess,
  ensureIngressClass,
  INGRESS_USER,
} from "../../ingress/ingress-access.ts";
import { ensureIngressService, INGRESS_SERVICE } from "../../ingress/ingress-service.ts";
import type { ClusterContext, RunComponent } from "../component.ts";

const ADMIN = { name: "system:admin", groups: ["system:masters", "system:authenticated"] };
const ACCOUNT = {
  name: INGRESS_USER,
  groups: ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"],
};
const FIELD_MANAGER = "k8ts-ingress";
/** The end of a cluster waits no longer for requests. */
const DRAIN_MS = 2_000;

export const runIngressComponent: RunComponent = (cluster, signal) =>
  readyAndDone((onReady) => run(cluster, onReady, signal));

async function run(
  cluster: ClusterContext,
  onReady: () => void,
  signal: AbortSignal,
): Promise<void> {
  const { clock, random, logger, metrics, hostname } = cluster;
  const address = cluster.server().advertiseAddress;
  if (isLoopback(address)) {
    onReady(); // a machine without any network: packets of the proxy cannot be sent to it
    return untilAborted(signal);
  }
  const clientAs = (user: typeof ADMIN): Client => {
    const transport = cluster.transportAs(user, FIELD_MANAGER);
    return new Client({ transport, clock, random, fieldManager: FIELD_MANAGER });
  };
  const admin = clientAs(ADMIN);
  await ensureIngressAccess(admin, signal);
  const ingress = runIngress(
    {
      ...{ client: clientAs(ACCOUNT), clock, random, logger, metrics },
      ...{ addresses: [address], httpPort: 0, httpsPort: 0, drainMs: DRAIN_MS },
      publicPorts: { http: 80, https: 443 },
      publish: { service: INGRESS_SERVICE },
      dataPlane: cluster.flags.ingressDataPlane,
      defaultCertificate: servingCertificate({ certFile: "", keyFile: "" }, FIELD_MANAGER, clock),
      onAccess: (entry) => logger.debug("request", { ...entry }),
    },
    signal,
  );
  const ports = await ingress.listening;
  try {
    await ensureIngressService(
      admin,
      {
        ...{ address, ...ports },
        nodeName: cluster.flags.machineNode ? hostname.toLowerCase() : undefined,
      },
      signal,
    );
    await ensureIngressClass(admin, signal);
  } catch (error) {
    // No reason to end the cluster.
    logger.warn("the Service of the Ingress controller could not be made", {
      error: messageOf(error),
    });
  }
  await Promise.race([ingress.ready, untilAborted(signal)]);
  onReady();
  await ingress.done;
}
