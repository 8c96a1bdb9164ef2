/**
 * The figures of a cluster, kept up to date change by change: what nodes offer, what pods request, their
 * phases. Only numbers are kept of an object, so that a large cluster fits. Pure.
 */
import type { FieldTree } from "#lib/json/field-tree.ts";
import { amountOf } from "./amount-of.ts";

export interface Usage {
  readonly capacity: number;
  readonly requested: number;
}

export interface NodeLine {
  readonly name: string;
  readonly isReady: boolean;
  readonly isCordoned: boolean;
}

export interface OverviewFigures {
  readonly nodes: { readonly total: number; readonly ready: number; readonly cordoned: number };
  readonly cpuCores: Usage;
  readonly memoryBytes: Usage;
  readonly pods: Usage;
  /** By phase, in a fixed order. */
  readonly phases: readonly { readonly phase: string; readonly count: number }[];
  /** Those that are not ready first, at most `NODES_SHOWN`. */
  readonly nodeLines: readonly NodeLine[];
}

const PHASES = ["Running", "Pending", "Succeeded", "Failed", "Unknown"];
const NODES_SHOWN = 100;

interface NodeNumbers extends NodeLine {
  readonly cpuCores: number;
  readonly memoryBytes: number;
  readonly pods: number;
}

interface PodNumbers {
  readonly phase: number;
  readonly cpuCores: number;
  readonly memoryBytes: number;
}

export class OverviewCounts {
  readonly #nodes = new Map<string, NodeNumbers>();
  readonly #pods = new Map<string, PodNumbers>();
  readonly #phases = PHASES.map(() => 0);
  #capacity = { cpuCores: 0, memoryBytes: 0, pods: 0 };
  #requested = { cpuCores: 0, memoryBytes: 0, pods: 0 };

  get nodesCounted(): number {
    return this.#nodes.size;
  }

  get podsCounted(): number {
    return this.#pods.size;
  }

  clearNodes(): void {
    this.#nodes.clear();
    this.#capacity = { cpuCores: 0, memoryBytes: 0, pods: 0 };
  }

  clearPods(): void {
    this.#pods.clear();
    this.#phases.fill(0);
    this.#requested = { cpuCores: 0, memoryBytes: 0, pods: 0 };
  }

  putNode(uid: string, node: unknown): void {
    this.removeNode(uid);
    const numbers = nodeNumbers(node as NodeObject);
    this.#nodes.set(uid, numbers);
    this.#addNode(numbers, 1);
  }

  removeNode(uid: string): void {
    const before = this.#nodes.get(uid);
    if (before === undefined) return;
    this.#nodes.delete(uid);
    this.#addNode(before, -1);
  }

  putPod(uid: string, pod: unknown): void {
    this.removePod(uid);
    const numbers = podNumbers(pod as PodObject);
    this.#pods.set(uid, numbers);
    this.#addPod(numbers, 1);
  }

  removePod(uid: string): void {
    const before = this.#pods.get(uid);
    if (before === undefined) return;
    this.#pods.delete(uid);
    this.#addPod(before, -1);
  }

  figures(): OverviewFigures {
    const lines = [...this.#nodes.values()];
    const shown = lines.toSorted(
      (a, b) => Number(a.isReady) - Number(b.isReady) || (a.name < b.name ? -1 : 1),
    );
    const usage = (name: "cpuCores" | "memoryBytes" | "pods"): Usage => ({
      capacity: this.#capacity[name],
      requested: this.#requested[name],
    });
    return {
      nodes: {
        total: lines.length,
        ready: lines.filter(({ isReady }) => isReady).length,
        cordoned: lines.filter(({ isCordoned }) => isCordoned).length,
      },
      cpuCores: usage("cpuCores"),
      memoryBytes: usage("memoryBytes"),
      pods: usage("pods"),
      phases: PHASES.map((phase, index) => ({ phase, count: this.#phases[index] ?? 0 })).filter(
        ({ count }) => count > 0,
      ),
      nodeLines: shown
        .slice(0, NODES_SHOWN)
        .map(({ name, isReady, isCordoned }) => ({ name, isReady, isCordoned })),
    };
  }

  #addNode({ cpuCores, memoryBytes, pods }: NodeNumbers, sign: 1 | -1): void {
    this.#capacity.cpuCores += sign * cpuCores;
    this.#capacity.memoryBytes += sign * memoryBytes;
    this.#capacity.pods += sign * pods;
  }

  /** Pods that have ended request nothing any more. */
  #addPod({ phase, cpuCores, memoryBytes }: PodNumbers, sign: 1 | -1): void {
    this.#phases[phase] = (this.#phases[phase] ?? 0) + sign;
    if (PHASES[phase] === "Succeeded" || PHASES[phase] === "Failed") return;
    this.#requested.cpuCores += sign * cpuCores;
    this.#requested.memoryBytes += sign * memoryBytes;
    this.#requested.pods += sign;
  }
}

/** What is read of an object; all of it may be missing. */
interface NodeObject {
  readonly metadata?: { readonly name?: string };
  readonly spec?: { readonly unschedulable?: boolean };
  readonly status?: {
    readonly allocatable?: Readonly<Record<string, unknown>>;
    readonly conditions?: readonly { readonly type?: string; readonly status?: string }[];
  };
}

/** The same of a list of nodes. */
export const NODE_FIELDS: FieldTree = {
  items: {
    metadata: { uid: true, name: true },
    spec: { unschedulable: true },
    status: { allocatable: true, conditions: { type: true, status: true } },
  },
};

interface Container {
  readonly restartPolicy?: string;
  readonly resources?: { readonly requests?: Readonly<Record<string, unknown>> };
}

interface PodObject {
  readonly spec?: {
    readonly containers?: readonly Container[];
    readonly initContainers?: readonly Container[];
  };
  readonly status?: { readonly phase?: string };
}

const CONTAINER_FIELDS = { restartPolicy: true, resources: { requests: true } } as const;

/** The same of a list of pods. */
export const POD_FIELDS: FieldTree = {
  items: {
    metadata: { uid: true },
    spec: { containers: CONTAINER_FIELDS, initContainers: CONTAINER_FIELDS },
    status: { phase: true },
  },
};

function nodeNumbers({ metadata, spec, status }: NodeObject): NodeNumbers {
  const allocatable = status?.allocatable ?? {};
  const isReady = status?.conditions?.some((c) => c.type === "Ready" && c.status === "True");
  return {
    name: metadata?.name ?? "",
    isReady: isReady ?? false,
    isCordoned: spec?.unschedulable === true,
    cpuCores: amountOf(allocatable.cpu, "cpu"),
    memoryBytes: amountOf(allocatable.memory, "memory"),
    pods: amountOf(allocatable.pods, "pods"),
  };
}

function podNumbers({ spec, status }: PodObject): PodNumbers {
  const phase = PHASES.indexOf(status?.phase ?? "Unknown");
  return {
    phase: phase === -1 ? PHASES.length - 1 : phase,
    cpuCores: podRequest(spec, "cpu"),
    memoryBytes: podRequest(spec, "memory"),
  };
}

/** As the scheduler counts: all containers together, or the largest init container if that is more. */
function podRequest(spec: PodObject["spec"], name: string): number {
  const of = ({ resources }: Container): number => amountOf(resources?.requests?.[name], name);
  let together = 0;
  let largest = 0;
  for (const container of spec?.containers ?? []) together += of(container);
  for (const container of spec?.initContainers ?? []) {
    if (container.restartPolicy === "Always") together += of(container);
    else largest = Math.max(largest, of(container));
  }
  return Math.max(together, largest);
}
