/** DefaultTolerationSeconds: adds tolerations for not-ready and unreachable nodes to pods without them. */

import type { Toleration } from "#api/generated/core.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { success } from "#api/meta/status.ts";
import { withSpec } from "../changed-object.ts";
import type { AdmissionPlugin } from "../plugin.ts";
import { objectOfKind } from "../requests.ts";

export interface TolerationSeconds {
  readonly notReady: number;
  readonly unreachable: number;
}

const NOT_READY = "node.kubernetes.io/not-ready";
const UNREACHABLE = "node.kubernetes.io/unreachable";

export function defaultTolerationSeconds(seconds: TolerationSeconds): AdmissionPlugin {
  const defaults = [
    { key: NOT_READY, tolerationSeconds: seconds.notReady },
    { key: UNREACHABLE, tolerationSeconds: seconds.unreachable },
  ];
  return {
    name: "DefaultTolerationSeconds",
    operations: ["CREATE", "UPDATE"],
    admit(request) {
      const pod = objectOfKind(request, podKind, ["CREATE", "UPDATE"]);
      if (pod === undefined) return;
      const tolerations = [...(pod.spec.tolerations ?? [])];
      const given = tolerations.length;
      for (const { key, tolerationSeconds } of defaults) {
        if (tolerations.some((one) => tolerates(one, key))) continue;
        tolerations.push({ key, operator: "Exists", effect: "NoExecute", tolerationSeconds });
      }
      return tolerations.length > given ? success(withSpec(pod, { tolerations })) : undefined;
    },
  };
}

function tolerates({ key = "", effect = "" }: Toleration, taint: string): boolean {
  return (key === taint || key === "") && (effect === "NoExecute" || effect === "");
}
