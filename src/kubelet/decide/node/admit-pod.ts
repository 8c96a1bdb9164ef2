/** Whether a node can take a pod: resources, ports, taints and selectors, as the scheduler sees them. */
import type { Node, Pod } from "#api/generated/core.v1.ts";
import { qosClassOf } from "#api/kinds/core/v1/pod/qos.ts";
import { compareAmounts } from "#api/kinds/core/v1/resources/resource-lists.ts";
import { quantityMilliValue, quantityOf, quantityValue } from "#api/meta/quantity.ts";
import { type Amounts, addAmounts } from "#api/quota/amounts.ts";
import { podRequests } from "#api/quota/pod-amounts.ts";
import { mayEvict } from "./eviction.ts";
import type { Pressures } from "./node-status.ts";

export type AdmissionVerdict =
  | { readonly admitted: true }
  | { readonly admitted: false; readonly reason: string; readonly message: string };

export interface AdmissionInputs {
  readonly pod: Pod;
  /** Those that hold resources of the node. */
  readonly others: readonly Pod[];
  readonly allocatable: Readonly<Record<string, string>>;
  readonly node: Node | undefined;
  readonly pressures: Pressures;
}

export function decideAdmission(inputs: AdmissionInputs): AdmissionVerdict {
  const { pod, others, allocatable, node } = inputs;
  const pressure = refusingPressure(inputs);
  if (pressure !== undefined) {
    return refuse("Evicted", `The node had condition: [${pressure}]. `);
  }
  if (pod.spec.os?.name !== undefined && pod.spec.os.name !== "linux") {
    return refuse("PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS");
  }
  const labels = node?.metadata.labels;
  const selector = Object.entries(pod.spec.nodeSelector ?? {});
  if (labels !== undefined && selector.some(([name, value]) => labels[name] !== value)) {
    return refuse(
      "NodeAffinity",
      "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
    );
  }
  const podsMax = Number(allocatable.pods ?? 110);
  if (others.length + 1 > podsMax) {
    return refuse(
      "OutOfpods",
      `Node didn't have enough resource: pods, requested: 1, used: ${others.length}, capacity: ${podsMax}`,
    );
  }
  const taken = others.map(requestsOf).reduce((sum, one) => addAmounts(sum, one), {});
  for (const [name, requested] of Object.entries(requestsOf(pod))) {
    const used = taken[name] ?? "0";
    const capacity = allocatable[name];
    if (capacity === undefined || compareAmounts(requested, "0") === 0) continue;
    const total = addAmounts({ [name]: used }, { [name]: requested })[name] ?? "0";
    if (compareAmounts(total, capacity) <= 0) continue;
    const unit = (text: string): number => inUnits(name, text);
    return refuse(
      `OutOf${name}`,
      `Node didn't have enough resource: ${name}, requested: ${unit(requested)}, used: ${unit(used)}, capacity: ${unit(capacity)}`,
    );
  }
  if (portsClash(pod, others)) {
    return refuse(
      "NodePorts",
      "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
    );
  }
  return { admitted: true };
}

/** Under memory pressure pods without requests are refused, under the others all but critical ones. */
function refusingPressure({ pod, pressures }: AdmissionInputs): string | undefined {
  if (!mayEvict(pod)) return undefined;
  if (pressures.disk) return "DiskPressure";
  if (pressures.pid) return "PIDPressure";
  const isBestEffort = qosClassOf(pod.spec) === "BestEffort";
  const tolerates = pod.spec.tolerations?.some(
    ({ key, operator }) => key === "node.kubernetes.io/memory-pressure" && operator === "Exists",
  );
  return pressures.memory && isBestEffort && !tolerates ? "MemoryPressure" : undefined;
}

function refuse(reason: string, message: string): AdmissionVerdict {
  return { admitted: false, reason, message };
}

function requestsOf(pod: Pod): Amounts {
  return addAmounts(podRequests(pod), pod.spec.overhead ?? {});
}

function inUnits(name: string, text: string): number {
  return name === "cpu" ? quantityMilliValue(quantityOf(text)) : quantityValue(quantityOf(text));
}

interface HostPort {
  readonly ip: string;
  readonly port: number;
  readonly protocol: string;
}

function portsClash(pod: Pod, others: readonly Pod[]): boolean {
  const wanted = hostPorts(pod);
  if (wanted.length === 0) return false;
  const used = others.flatMap(hostPorts);
  return wanted.some((one) =>
    used.some(
      (two) =>
        one.port === two.port &&
        one.protocol === two.protocol &&
        (one.ip === two.ip || one.ip === "0.0.0.0" || two.ip === "0.0.0.0"),
    ),
  );
}

function hostPorts({ spec }: Pod): HostPort[] {
  return (spec.containers ?? []).flatMap(({ ports = [] }) =>
    ports.flatMap(({ hostPort = 0, hostIP, protocol = "TCP" }) =>
      hostPort > 0 ? [{ ip: hostIP || "0.0.0.0", port: hostPort, protocol }] : [],
    ),
  );
}
