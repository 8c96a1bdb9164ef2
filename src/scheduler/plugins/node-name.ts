/** Keeps a pod that names its node off all other nodes. */
import { definePlugin, FITS, type PluginFactory, SKIP, unresolvable } from "#scheduler/plugin.ts";

const OTHER_NODE = unresolvable("node(s) didn't match the requested node name");

export const nodeName: PluginFactory = {
  name: "NodeName",
  create: () =>
    definePlugin<string, undefined>({
      name: "NodeName",
      filtersByNodeOnly: true,
      preFilter: ({ pod }) => {
        const wanted = pod.spec.nodeName ?? "";
        return wanted === "" ? SKIP : { skip: false, state: wanted };
      },
      filter: (wanted, _pod, node) => (node.name === wanted ? FITS : OTHER_NODE),
      wakeOn: [{ event: "node-added" }],
    }),
};
