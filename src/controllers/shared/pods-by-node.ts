/** The index of pods by the node that they are bound to. */

import type { Pod } from "#api/generated/core.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import type { IndexSpec } from "#runtime/controller.ts";

export const PODS_BY_NODE = "spec.nodeName";

export const podsByNode: IndexSpec<Pod> = {
  kind: podKind,
  name: PODS_BY_NODE,
  values: ({ spec }) => ((spec.nodeName ?? "") === "" ? [] : [spec.nodeName!]),
};
