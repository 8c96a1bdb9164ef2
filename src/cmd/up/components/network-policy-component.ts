/** NetworkPolicies as a component of `k8ts up`: enforced on the machine's own node. */
import { Client } from "#client/client.ts";
import { runNetworkPolicy } from "#network/policy/run-network-policy.ts";
import { ensureNetworkPolicyAccess } from "../../network-policy/network-policy-access.ts";
import type { RunComponent } from "../component.ts";

const ADMIN = { name: "system:admin", groups: ["system:masters", "system:authenticated"] };
const PROXY = { name: "system:kube-proxy", groups: ["system:authenticated"] };
const FIELD_MANAGER = "k8ts-network-policy";

export const runNetworkPolicyComponent: RunComponent = (cluster, signal) => {
  const { clock, random, logger, hostname } = cluster;
  const clientAs = (user: typeof ADMIN): Client => {
    const transport = cluster.transportAs(user, FIELD_MANAGER);
    return new Client({ transport, clock, random, fieldManager: FIELD_MANAGER });
  };
  const options = { client: clientAs(PROXY), clock, random, logger };
  const running = ensureNetworkPolicyAccess(clientAs(ADMIN), signal).then(() =>
    runNetworkPolicy({ ...options, nodeName: hostname.toLowerCase() }, signal),
  );
  return {
    ready: running.then(({ ready }) => ready),
    done: running.then(({ done }) => done),
  };
};
