/** The row of a pod in a table: its containers and conditions, said in a word. */
import { ageColumn, ageOf, NONE, nameColumn } from "#api/columns.ts";
import type { Container, ContainerStatus, Pod } from "#api/generated/core.v1.ts";
import type { TableRowCondition } from "#api/generated/meta.v1.ts";
import type { Column } from "#api/kind.ts";
import { ownValue } from "#lib/own-value.ts";
import { isSidecar } from "./containers/containers.ts";

export const podColumns: readonly Column<Pod>[] = [
  nameColumn,
  {
    name: "Ready",
    type: "string",
    description: "The aggregate readiness state of this pod for accepting traffic.",
    cell: (pod) => {
      const { ready, total } = summarize(pod);
      return `${ready}/${total}`;
    },
  },
  {
    name: "Status",
    type: "string",
    description: "The aggregate status of the containers in this pod.",
    cell: (pod) => summarize(pod).reason,
  },
  {
    name: "Restarts",
    type: "string",
    description:
      "The number of times the containers in this pod have been restarted and when the last container in this pod has restarted.",
    cell: (pod, nowMs) => {
      const { restarts, lastRestart } = summarize(pod);
      if (restarts === 0 || lastRestart === undefined) return `${restarts}`;
      return `${restarts} (${ageOf(lastRestart, nowMs)} ago)`;
    },
  },
  ageColumn,
  {
    name: "IP",
    type: "string",
    describedBy: "core.v1.PodStatus.podIP",
    priority: 1,
    cell: ({ status }) => status.podIPs?.[0]?.ip || NONE,
  },
  {
    name: "Node",
    type: "string",
    describedBy: "core.v1.PodSpec.nodeName",
    priority: 1,
    cell: ({ spec }) => spec.nodeName || NONE,
  },
  {
    name: "Nominated Node",
    type: "string",
    describedBy: "core.v1.PodStatus.nominatedNodeName",
    priority: 1,
    cell: ({ status }) => status.nominatedNodeName || NONE,
  },
  {
    name: "Readiness Gates",
    type: "string",
    describedBy: "core.v1.PodSpec.readinessGates",
    priority: 1,
    cell: readinessGates,
  },
];

/** Pods that have ended are marked, so that clients can leave them out. */
export function podRowConditions({ status }: Pod): readonly TableRowCondition[] {
  const message = ownValue(ENDED, status.phase ?? "");
  if (message === undefined) return [];
  return [{ type: "Completed", status: "True", reason: status!.phase!, message }];
}

const ENDED: Readonly<Record<string, string>> = {
  Succeeded: "The pod has completed successfully.",
  Failed: "The pod failed.",
};

interface Summary {
  readonly ready: number;
  readonly total: number;
  readonly reason: string;
  readonly restarts: number;
  readonly lastRestart: string | undefined;
}

/** What the init containers say holds until they are done. */
function summarize(pod: Pod): Summary {
  const { status, spec, metadata } = pod;
  const sidecars = (spec.initContainers ?? []).filter(isSidecar);
  const total = (spec.containers ?? []).length + sidecars.length;
  const init = summarizeInit(pod);
  const isInitialized = status.conditions?.find(({ type }) => type === "Initialized");
  const initializing = init.reason !== undefined && isInitialized?.status !== "True";

  const running = initializing ? undefined : summarizeRunning(pod, init.reason ?? podReason(pod));
  const counted = running === undefined ? init.all : merge(init.sidecars, running);
  let reason = running?.reason ?? init.reason ?? podReason(pod);
  if (metadata.deletionTimestamp !== undefined) {
    if (status.reason === "NodeLost") reason = "Unknown";
    else if (ownValue(ENDED, status.phase ?? "") === undefined) reason = "Terminating";
  }
  return { ready: init.ready + (running?.ready ?? 0), total, reason, ...counted };
}

function podReason({ status }: Pod): string {
  const gated = status.conditions?.some(
    ({ type, reason }) => type === "PodScheduled" && reason === "SchedulingGated",
  );
  return gated ? "SchedulingGated" : status.reason || status.phase || "";
}

interface Restarts {
  readonly restarts: number;
  readonly lastRestart: string | undefined;
}

const NO_RESTARTS: Restarts = { restarts: 0, lastRestart: undefined };

interface InitSummary {
  readonly ready: number;
  /** Why the pod is not past its init containers; undefined if it is. */
  readonly reason: string | undefined;
  readonly all: Restarts;
  readonly sidecars: Restarts;
}

/** Up to the first init container that has not done its part. */
function summarizeInit({ spec, status }: Pod): InitSummary {
  const containers = new Map<string, Container>(
    (spec.initContainers ?? []).map((container) => [container.name, container]),
  );
  let ready = 0;
  let all = NO_RESTARTS;
  let sidecars = NO_RESTARTS;
  for (const [i, container] of (status.initContainerStatuses ?? []).entries()) {
    const own = containers.get(container.name);
    const runsOn = own !== undefined && isSidecar(own);
    all = merge(all, restartsOf(container));
    if (runsOn) sidecars = merge(sidecars, restartsOf(container));
    if (container.state?.terminated?.exitCode === 0) continue;
    if (runsOn && container.started === true) {
      if (container.ready) ready++;
      continue;
    }
    const reason = initReason(container, i, (spec.initContainers ?? []).length);
    return { ready, reason, all, sidecars };
  }
  return { ready, reason: undefined, all, sidecars };
}

function initReason({ state }: ContainerStatus, index: number, total: number): string {
  const { terminated, waiting } = state ?? {};
  if (terminated !== undefined) return `Init:${endReason(terminated)}`;
  const isWaiting = waiting?.reason !== undefined && waiting.reason !== "PodInitializing";
  return isWaiting && waiting.reason !== "" ? `Init:${waiting.reason}` : `Init:${index}/${total}`;
}

type Terminated = NonNullable<NonNullable<ContainerStatus["state"]>["terminated"]>;

function endReason({ reason = "", signal = 0, exitCode }: Terminated): string {
  if (reason !== "") return reason;
  return signal === 0 ? `ExitCode:${exitCode}` : `Signal:${signal}`;
}

/** The last word is that of the first container; an error counts more than a completed one. */
function summarizeRunning(
  { status }: Pod,
  podReason: string,
): Restarts & { readonly reason: string; readonly ready: number } {
  let reason = podReason;
  let errorReason = "";
  let ready = 0;
  let restarts = NO_RESTARTS;
  for (const container of (status.containerStatuses ?? []).toReversed()) {
    const { waiting, terminated, running } = container.state ?? {};
    restarts = merge(restarts, restartsOf(container));
    if (waiting?.reason) reason = waiting.reason;
    else if (terminated !== undefined) {
      reason = endReason(terminated);
      if (terminated.exitCode !== 0) errorReason = reason;
    } else if (container.ready && running !== undefined) ready++;
  }
  if (reason === "Completed") {
    const isReady = status.conditions?.some((c) => c.type === "Ready" && c.status === "True");
    if (ready > 0 && isReady) reason = "Running";
    else if (errorReason !== "") reason = errorReason;
    else if (ready > 0) reason = "NotReady";
  }
  return { reason, ready, ...restarts };
}

function restartsOf({ restartCount, lastState }: ContainerStatus): Restarts {
  return { restarts: restartCount, lastRestart: lastState?.terminated?.finishedAt ?? undefined };
}

function merge(a: Restarts, b: Restarts): Restarts {
  const restarts = a.restarts + b.restarts;
  if (a.lastRestart === undefined || b.lastRestart === undefined) {
    return { restarts, lastRestart: a.lastRestart ?? b.lastRestart };
  }
  return { restarts, lastRestart: [a.lastRestart, b.lastRestart].sort()[1] };
}

function readinessGates({ spec, status }: Pod): string {
  const gates = spec.readinessGates ?? [];
  if (gates.length === 0) return NONE;
  const open = gates.filter(({ conditionType }) => {
    const condition = status.conditions?.find(({ type }) => type === conditionType);
    return condition?.status === "True";
  });
  return `${open.length}/${gates.length}`;
}
