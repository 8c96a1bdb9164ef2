/** Keeps a pod off nodes where one of its host ports is taken. */
import type { Pod } from "#api/generated/core.v1.ts";
import { definePlugin, FITS, type PluginFactory, rejected, SKIP } from "#scheduler/plugin.ts";
import { NodeInfo } from "#scheduler/snapshot/node-info.ts";
import { type HostPort, PodInfo } from "#scheduler/snapshot/pod-info.ts";

const TAKEN = rejected("node(s) didn't have free ports for the requested pod ports");

export const nodePorts: PluginFactory = {
  name: "NodePorts",
  create: () =>
    definePlugin<readonly HostPort[], undefined>({
      name: "NodePorts",
      filtersByNodeOnly: true,
      preFilter: ({ hostPorts }) =>
        hostPorts.length === 0 ? SKIP : { skip: false, state: hostPorts },
      filter: (ports, _pod, node) => (ports.some((port) => node.isPortTaken(port)) ? TAKEN : FITS),
      wakeOn: [
        { event: "node-added" },
        { event: "pod-deleted", wakes: ({ hostPorts }, deleted) => frees(deleted, hostPorts) },
      ],
    }),
};

function frees(deleted: Pod, wanted: readonly HostPort[]): boolean {
  const node = new NodeInfo("");
  node.addPod(new PodInfo(deleted));
  return wanted.some((port) => node.isPortTaken(port));
}
