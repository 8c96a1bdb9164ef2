/** Keeps pods off nodes that do not declare the features which their specs need. */
import type { PodSpec } from "#api/generated/core.v1.ts";
import { definePlugin, FITS, type PluginFactory, SKIP, unresolvable } from "#scheduler/plugin.ts";

const NO_MATCH = unresolvable("node(s) didn't match Pod's required features");

/** Features that matter when a pod is scheduled; the others matter when it is updated. */
const FEATURES: Readonly<Record<string, (spec: PodSpec) => boolean>> = {
  RestartAllContainersOnContainerExits: ({ containers, initContainers }) =>
    [...(containers ?? []), ...(initContainers ?? [])].some(({ restartPolicyRules = [] }) =>
      restartPolicyRules.some(({ action }) => action === "RestartAllContainers"),
    ),
  UserNamespacesHostNetworkSupport: ({ hostNetwork, hostUsers }) =>
    hostNetwork === true && hostUsers === false,
};

export const nodeDeclaredFeatures: PluginFactory = {
  name: "NodeDeclaredFeatures",
  create: () =>
    definePlugin<readonly string[], undefined>({
      name: "NodeDeclaredFeatures",
      filtersByNodeOnly: true,
      preFilter: ({ pod }) => {
        const needed = Object.keys(FEATURES).filter((name) => FEATURES[name]!(pod.spec));
        return needed.length === 0 ? SKIP : { skip: false, state: needed };
      },
      filter: (needed, _pod, { node }) => {
        const declared = node?.status?.declaredFeatures ?? [];
        return needed.every((name) => declared.includes(name)) ? FITS : NO_MATCH;
      },
      wakeOn: [{ event: "node-added" }, { event: "node-features-changed" }],
    }),
};
