/** TaintNodesByCondition: new nodes get the taint not-ready. */
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { success } from "#api/meta/status.ts";
import { withSpec } from "../../changed-object.ts";
import type { AdmissionPlugin } from "../../plugin.ts";
import { objectOfKind } from "../../requests.ts";

const NOT_READY = { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" };

export const taintNodesByCondition: AdmissionPlugin = {
  name: "TaintNodesByCondition",
  operations: ["CREATE"],
  admit(request) {
    const node = objectOfKind(request, nodeKind, ["CREATE"]);
    if (node === undefined) return;
    const taints = node.spec.taints ?? [];
    const there = taints.some(
      ({ key, effect }) => key === NOT_READY.key && effect === NOT_READY.effect,
    );
    return there ? undefined : success(withSpec(node, { taints: [...taints, { ...NOT_READY }] }));
  },
};
