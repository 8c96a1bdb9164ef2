/** Binds a pod to its node through the pod's binding subresource. */
import type { Binding } from "#api/generated/core.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import type { Typed } from "#client/client.ts";
import { definePlugin, FITS, type PluginFactory } from "#scheduler/plugin.ts";

const { group, version, apiVersion, scope, names } = podKind;
/** Pods, addressed for their binding subresource. */
const bindings: Typed<Binding> = { group, version, apiVersion, scope, names };

export const defaultBinder: PluginFactory = {
  name: "DefaultBinder",
  create: (_args, { client }) =>
    definePlugin<undefined, undefined>({
      name: "DefaultBinder",
      bind: async ({ namespace, name, uid }, node, signal) => {
        const binding: Binding = {
          apiVersion: "v1",
          kind: "Binding",
          metadata: { namespace, name, uid },
          target: { kind: "Node", name: node.name },
        };
        const result = await client.create(bindings, binding, { subresource: "binding" }, signal);
        if (!result.ok) throw new Error(result.status.message ?? result.status.reason);
        return FITS;
      },
    }),
};
