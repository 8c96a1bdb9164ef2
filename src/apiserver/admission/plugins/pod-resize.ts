/** A running pod grows only as far as its node could ever hold it. */
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import {
  compareQuantities,
  quantityMilliValue,
  quantityOf,
  quantityValue,
} from "#api/meta/quantity.ts";
import { podRequests } from "#api/quota/pod-amounts.ts";
import type { AdmissionPlugin } from "../plugin.ts";
import { refuse } from "../refuse.ts";
import { objectOfKind } from "../requests.ts";

export const podResizeValidator: AdmissionPlugin = {
  name: "PodResizeValidator",
  operations: ["UPDATE"],
  validate(request, { objects }) {
    const pod = objectOfKind(request, podKind, ["UPDATE"], "resize");
    const nodeName = pod?.spec.nodeName;
    if (pod === undefined || !nodeName) return;
    if (request.old?.metadata.generation === pod.metadata.generation) return;
    const node = objects.get(nodeKind, "", nodeName);
    if (node === undefined) return refuse(request, `node ${goQuote(nodeName)} not found`);
    const os = node.metadata.labels?.["kubernetes.io/os"] ?? "linux";
    if (os !== "linux") {
      const why = `pod resize is only supported on linux nodes, node ${goQuote(nodeName)} is ${goQuote(os)}`;
      return refuse(request, why, { reason: "UnsupportedPlatform" });
    }
    const excess = excessOf(podRequests(pod), node.status.allocatable ?? {});
    if (excess.length === 0) return;
    const why = `node didn't have enough allocatable resources: ${excess.join("; ")}`;
    return refuse(request, why, { reason: "NodeCapacity" });
  },
};

function excessOf(
  requested: Readonly<Record<string, string>>,
  allocatable: Readonly<Record<string, string>>,
): string[] {
  const units = [
    { name: "cpu", show: quantityMilliValue },
    { name: "memory", show: quantityValue },
  ];
  return units.flatMap(({ name, show }) => {
    const [asked, there] = [requested, allocatable].map((list) => quantityOf(list[name] ?? "0"));
    if (compareQuantities(asked!, there!) <= 0) return [];
    return [`${name}, requested: ${show(asked!)}, allocatable: ${show(there!)}`];
  });
}
