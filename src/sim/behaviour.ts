/**
 * What a simulated pod does: from annotations of the pod (`sim.k8ts.io/run-for: 10s`), then from the
 * first matching rule of the configuration file, then from the defaults. By default a pod starts at
 * once, is ready and runs until it is deleted; a pod of a Job ends with exit code 0 after a second.
 */
import type { Pod } from "#api/generated/core.v1.ts";
import { parseDuration } from "#api/meta/duration.ts";
import {
  parseQuantity,
  type Quantity,
  quantityMilliValue,
  quantityValue,
} from "#api/meta/quantity.ts";

export interface Behaviour {
  /** From the binding of the pod until its first container runs. */
  readonly startDelayMs: number;
  /** From the start of a container until it is ready. */
  readonly readyDelayMs: number;
  readonly ready: boolean;
  /** How long a container runs; undefined: until the pod is deleted. */
  readonly runMs: number | undefined;
  /** How long an init container runs. */
  readonly initRunMs: number;
  readonly exitCode: number;
  /** From the deletion of the pod until its containers end, within the grace period. */
  readonly stopDelayMs: number;
  readonly logs: readonly string[];
  readonly cpuMilli: number;
  readonly memoryBytes: number;
}

/** As written in annotations and in the configuration file. All values are text. */
export type BehaviourText = Readonly<Partial<Record<BehaviourName, string>>>;

const ANNOTATION_PREFIX = "sim.k8ts.io/";

const JOB_RUN_MS = 1_000;
const LOG_LINES_MAX = 1_000;

export const DEFAULT_BEHAVIOUR: Behaviour = {
  startDelayMs: 0,
  readyDelayMs: 0,
  ready: true,
  runMs: undefined,
  initRunMs: 0,
  exitCode: 0,
  stopDelayMs: 0,
  logs: [],
  cpuMilli: 10,
  memoryBytes: 32 * 1024 * 1024,
};

/** One row for each name: how its text is read. */
const READERS = {
  "start-delay": (text: string) => ({ startDelayMs: milliseconds(text) }),
  "ready-delay": (text: string) => ({ readyDelayMs: milliseconds(text) }),
  ready: (text: string) => ({ ready: truth(text) }),
  "run-for": (text: string) => ({ runMs: milliseconds(text) }),
  "crash-after": (text: string) => ({ runMs: milliseconds(text), exitCode: 1 }),
  "init-run-for": (text: string) => ({ initRunMs: milliseconds(text) }),
  "exit-code": (text: string) => ({ exitCode: exitCodeOf(text) }),
  "stop-delay": (text: string) => ({ stopDelayMs: milliseconds(text) }),
  logs: (text: string) => ({ logs: text.replace(/\n$/, "").split("\n").slice(0, LOG_LINES_MAX) }),
  cpu: (text: string) => ({ cpuMilli: quantityMilliValue(amount(text)) }),
  memory: (text: string) => ({ memoryBytes: quantityValue(amount(text)) }),
} satisfies Record<string, (text: string) => Partial<Behaviour>>;

export type BehaviourName = keyof typeof READERS;
export const BEHAVIOUR_NAMES = Object.keys(READERS) as readonly BehaviourName[];

export interface BehaviourRule {
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly behaviour: Partial<Behaviour>;
}

export interface FoundBehaviour {
  readonly behaviour: Behaviour;
  /** What is wrong with the pod's annotations; these are then ignored. */
  readonly problems: readonly string[];
}

const AS_USUAL: FoundBehaviour = { behaviour: DEFAULT_BEHAVIOUR, problems: [] };

export function behaviourOf(pod: Pod, rules: readonly BehaviourRule[]): FoundBehaviour {
  const rule = rules.length === 0 ? undefined : rules.find((one) => matches(one, pod));
  const isOfJob = pod.metadata.ownerReferences?.some((o) => o.controller && o.kind === "Job");
  const texts = annotationTexts(pod);
  if (texts === undefined && rule === undefined && !isOfJob) {
    return AS_USUAL;
  }
  const { behaviour, problems } = readBehaviour(texts ?? {});
  return {
    behaviour: {
      ...DEFAULT_BEHAVIOUR,
      ...(isOfJob ? { runMs: JOB_RUN_MS } : {}),
      ...rule?.behaviour,
      ...behaviour,
    },
    problems,
  };
}

/** Values that cannot be read are left out, with a sentence about each. */
export function readBehaviour(texts: BehaviourText): {
  readonly behaviour: Partial<Behaviour>;
  readonly problems: readonly string[];
} {
  let behaviour: Partial<Behaviour> = {};
  const problems: string[] = [];
  for (const name of BEHAVIOUR_NAMES) {
    const text = texts[name];
    if (text === undefined) continue;
    try {
      behaviour = { ...behaviour, ...READERS[name](text) };
    } catch (error) {
      problems.push(`${name}: ${(error as Error).message}`);
    }
  }
  return { behaviour, problems };
}

function annotationTexts({ metadata: { annotations } }: Pod): BehaviourText | undefined {
  if (annotations === undefined) return undefined;
  let texts: Record<string, string> | undefined;
  for (const [name, text] of Object.entries(annotations)) {
    if (!name.startsWith(ANNOTATION_PREFIX)) continue;
    texts ??= {};
    texts[name.slice(ANNOTATION_PREFIX.length)] = text;
  }
  return texts;
}

function matches({ namespace, labels = {} }: BehaviourRule, { metadata }: Pod): boolean {
  if (namespace !== undefined && metadata.namespace !== namespace) return false;
  return Object.entries(labels).every(([name, value]) => metadata.labels?.[name] === value);
}

function milliseconds(text: string): number {
  const parsed = parseDuration(text);
  if (!parsed.ok) throw new Error(parsed.error);
  if (parsed.nanos < 0n) throw new Error(`${text} is negative`);
  return Number(parsed.nanos / 1_000_000n);
}

function truth(text: string): boolean {
  if (text === "true" || text === "false") return text === "true";
  throw new Error(`${JSON.stringify(text)} is neither true nor false`);
}

function exitCodeOf(text: string): number {
  const code = Number(text);
  if (/^\d+$/.test(text) && code <= 255) return code;
  throw new Error(`${JSON.stringify(text)} is no exit code (0 to 255)`);
}

function amount(text: string): Quantity {
  const parsed = parseQuantity(text);
  if (!parsed.ok) throw new Error(parsed.error);
  return parsed.value;
}
