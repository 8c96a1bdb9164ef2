/**
 * A cloud provider of your own: load balancers with addresses of a list in `--cloud-config`, one in each
 * line. `k8ts cloud-controller-manager --cloud-provider ./list-provider.js --cloud-config addresses.txt`
 * runs it.
 */
import type { CloudProvider, ProviderContext } from "k8ts/cloud";

export function createProvider({ config }: ProviderContext): CloudProvider {
  const free = config.split("\n").filter((line) => line !== "");
  const used = new Map<string, string>();
  return {
    name: "list",
    loadBalancers: {
      get: async (_cluster, { metadata }) => {
        const ip = used.get(metadata.uid ?? "");
        return ip === undefined ? undefined : { ingress: [{ ip }] };
      },
      ensure: async (_cluster, { metadata }) => {
        const ip = used.get(metadata.uid ?? "") ?? free.shift();
        if (ip === undefined) throw new Error("no address is left");
        used.set(metadata.uid ?? "", ip);
        return { ingress: [{ ip }] };
      },
      update: async () => undefined,
      remove: async (_cluster, { metadata }) => {
        const ip = used.get(metadata.uid ?? "");
        if (ip !== undefined && used.delete(metadata.uid ?? "")) free.push(ip);
      },
    },
  };
}
