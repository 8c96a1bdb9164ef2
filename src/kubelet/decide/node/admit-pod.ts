/** Whether a node can take a pod: resources, ports, taints and selectors, as the scheduler sees them. */
import type { Node, Pod } from "#api/generated/core.v1.ts";
import { wantsNode } from "#api/kinds/core/v1/node/node-selection.ts";
import { tolerates } from "#api/kinds/core/v1/node/tolerates.ts";
import { qosClassOf } from "#api/kinds/core/v1/pod/qos.ts";
import { compareAmounts } from "#api/kinds/core/v1/resources/resource-lists.ts";
import { quantityMilliValue, quantityOf, quantityValue } from "#api/meta/quantity.ts";
import { type Amounts, addAmounts } from "#api/quota/amounts.ts";
import { podRequests } from "#api/quota/pod-amounts.ts";
import { mayEvict } from "./eviction.ts";
import type { Pressures } from "./node-status.ts";
import type { Missing } from "./preemption.ts";
import { whyForbiddenSysctl } from "./sysctls.ts";

export type AdmissionVerdict =
  | { readonly admitted: true }
  | {
      readonly admitted: false;
      readonly reason: string;
      readonly message: string;
      /** Nothing but these resources is missing: a critical pod may preempt others. */
      readonly missing?: Missing;
    };

export interface AdmissionInputs {
  readonly pod: Pod;
  /** Those that hold resources of the node. */
  readonly others: readonly Pod[];
  readonly allocatable: Readonly<Record<string, string>>;
  readonly node: Node | undefined;
  readonly pressures: Pressures;
  /** Names and patterns beside the safe ones. */
  readonly allowedUnsafeSysctls: readonly string[];
}

/** In upstream's order: what preemption cannot help comes before resources for critical pods. */
export function decideAdmission(inputs: AdmissionInputs): AdmissionVerdict {
  const { pod, node } = inputs;
  const pressure = refusingPressure(inputs);
  if (pressure !== undefined) {
    return refuse("Evicted", `The node had condition: [${pressure}]. `);
  }
  const sysctl = whyForbiddenSysctl(pod, inputs.allowedUnsafeSysctls);
  if (sysctl !== undefined) return refuse("SysctlForbidden", sysctl);
  const unsupported = whyUnsupported(pod, node);
  if (unsupported !== undefined) return unsupported;
  const resources = missingResources(inputs);
  const misplaced = whyMisplaced(inputs);
  const [first] = resources;
  if (first === undefined) return misplaced ?? { admitted: true };
  if (misplaced !== undefined && !mayEvict(pod)) return misplaced;
  const missing = new Map(resources.map((one) => [one.name, one.amount]));
  return { ...refuse(`OutOf${first.name}`, first.message), missing };
}

function whyUnsupported({ metadata, spec }: Pod, node: Node | undefined): Refusal | undefined {
  const os = metadata.labels?.["kubernetes.io/os"];
  if (os !== undefined && os !== "linux") {
    return refuse(
      "PodOSSelectorNodeLabelDoesNotMatch",
      "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
    );
  }
  if (spec.os?.name !== undefined && spec.os.name !== "linux") {
    return refuse("PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS");
  }
  const isStrict = spec.securityContext?.supplementalGroupsPolicy === "Strict";
  if (isStrict && node !== undefined && !node.status?.features?.supplementalGroupsPolicy) {
    return refuse(
      "SupplementalGroupsPolicyNotSupported",
      "SupplementalGroupsPolicy=Strict is not supported in this node",
    );
  }
  return undefined;
}

function whyMisplaced({ pod, others, node }: AdmissionInputs): Refusal | undefined {
  if (node !== undefined && !wantsNode(pod.spec, node)) {
    return predicate("NodeAffinity", "node(s) didn't match Pod's node affinity/selector");
  }
  if (portsClash(pod, others)) {
    return predicate("NodePorts", "node(s) didn't have free ports for the requested pod ports");
  }
  const isStatic = pod.metadata.annotations?.["kubernetes.io/config.source"] !== undefined;
  const repels = (node?.spec.taints ?? []).some(
    (taint) =>
      taint.effect === "NoExecute" &&
      !(pod.spec.tolerations ?? []).some((toleration) => tolerates(toleration, taint)),
  );
  if (repels && !isStatic) {
    return predicate("TaintToleration", "node(s) had taints that the pod didn't tolerate");
  }
  return undefined;
}

interface MissingResource {
  readonly name: string;
  readonly amount: number;
  readonly message: string;
}

function missingResources({ pod, others, allocatable }: AdmissionInputs): MissingResource[] {
  const found: MissingResource[] = [];
  const check = (name: string, requested: number, used: number, capacity: number): void => {
    if (requested + used <= capacity) return;
    const message = `Node didn't have enough resource: ${name}, requested: ${requested}, used: ${used}, capacity: ${capacity}`;
    found.push({ name, amount: requested - (capacity - used), message });
  };
  check("pods", 1, others.length, Number(allocatable.pods ?? 110));
  const taken = others.map(requestsOf).reduce((sum, one) => addAmounts(sum, one), {});
  for (const [name, requested] of Object.entries(requestsOf(pod))) {
    const capacity = allocatable[name];
    if (capacity === undefined || compareAmounts(requested, "0") === 0) continue;
    const unit = (text: string): number => inUnits(name, text);
    check(name, unit(requested), unit(taken[name] ?? "0"), unit(capacity));
  }
  return found;
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

type Refusal = Extract<AdmissionVerdict, { admitted: false }>;

function refuse(reason: string, message: string): Refusal {
  return { admitted: false, reason, message };
}

function predicate(name: string, why: string): Refusal {
  return refuse(name, `Predicate ${name} failed: ${why}`);
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
