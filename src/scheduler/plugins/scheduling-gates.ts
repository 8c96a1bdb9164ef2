/** Keeps a pod out of the queue while it has scheduling gates. */
import { definePlugin, FITS, type PluginFactory, unresolvable } from "#scheduler/plugin.ts";

export const schedulingGates: PluginFactory = {
  name: "SchedulingGates",
  create: () =>
    definePlugin({
      name: "SchedulingGates",
      preEnqueue: ({ pod }) => {
        const gates = pod.spec.schedulingGates ?? [];
        if (gates.length === 0) return FITS;
        const names = gates.map(({ name }) => name).join(" ");
        return unresolvable(`waiting for scheduling gates: [${names}]`);
      },
      wakeOn: [{ event: "own-gates-eliminated" }],
    }),
};
