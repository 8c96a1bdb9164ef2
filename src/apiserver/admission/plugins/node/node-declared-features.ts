/** Changes of a running pod that its node must know how to carry out. */
import { isDeepStrictEqual } from "node:util";
import type { Pod } from "#api/generated/core.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import type { AdmissionPlugin } from "../../plugin.ts";
import { refuse } from "../../refuse.ts";
import { objectOfKind, oldObject } from "../../requests.ts";

export const nodeDeclaredFeatureValidator: AdmissionPlugin = {
  name: "NodeDeclaredFeatureValidator",
  operations: ["UPDATE"],
  validate(request, { objects }) {
    const pod =
      objectOfKind(request, podKind, ["UPDATE"]) ??
      objectOfKind(request, podKind, ["UPDATE"], "resize");
    const nodeName = pod?.spec.nodeName;
    if (pod === undefined || !nodeName) return;
    const old = oldObject(request, podKind);
    if (old.metadata.generation === pod.metadata.generation) return;
    const needed = neededFeatures(pod, old);
    if (needed.length === 0) return;
    const node = objects.get(nodeKind, "", nodeName);
    if (node === undefined) return refuse(request, `node ${goQuote(nodeName)} not found`);
    const missing = needed.filter((name) => !node.status.declaredFeatures?.includes(name));
    if (missing.length === 0) return;
    const names = missing.join(", ");
    const where = goQuote(nodeName);
    return refuse(
      request,
      `pod update requires features ${names} which are not available on node ${where}`,
    );
  },
};

function neededFeatures({ spec }: Pod, { spec: old }: Pod): string[] {
  const changed = (next: unknown, before: unknown): boolean =>
    !isDeepStrictEqual(next ?? {}, before ?? {});
  const initChanges = (old.initContainers ?? []).some(
    ({ restartPolicy, resources }, index) =>
      restartPolicy !== "Always" && changed(spec.initContainers?.[index]?.resources, resources),
  );
  return [
    ...(changed(spec.resources, old.resources) ? ["InPlacePodLevelResourcesVerticalScaling"] : []),
    ...(initChanges ? ["InPlacePodVerticalScalingInitContainers"] : []),
  ];
}
