/** Starts components in the order of their needs and stops them in reverse: see component.ts. */
import { signalForMany, untilAborted } from "#lib/async/aborted.ts";
import { deferred } from "#lib/async/deferred.ts";
import { TurnLimit } from "#lib/async/turn-limit.ts";
import type { ClusterContext, Component, ComponentHealth, RunningComponent } from "./component.ts";

/** After this time it is logged that a component has not ended yet. */
const LATE_MS = 10_000;
/** Several that wait for the same one start in turns of their own: a request from outside need not wait for all. */
const STARTS_PER_TURN = 1;

export interface RunningComponents {
  /** Resolves when all are ready; rejects with the failure of the first that could not start. */
  readonly ready: Promise<void>;
  /** Resolves when all have ended; rejects with the first failure. */
  readonly done: Promise<void>;
  health(name: string): Promise<ComponentHealth>;
}

export interface RunComponentsOptions {
  /** Called when a component has become ready, with the time that its start took. */
  onReady?(name: string, tookMs: number): void;
}

/** One component with its state in this run. */
interface Slot {
  readonly component: Component;
  readonly life: AbortController;
  readonly ready: Promise<void>;
  readonly done: Promise<void>;
  running: RunningComponent | undefined;
}

/** What the start of a component waits for. */
interface StartWhen {
  readonly needs: readonly Slot[];
  readonly turns: TurnLimit;
  /** The cluster ends: it does not start any more. */
  readonly ending: AbortSignal;
}

export function runComponents(
  components: readonly Component[],
  context: Omit<ClusterContext, "health">,
  signal: AbortSignal,
  options: RunComponentsOptions = {},
): RunningComponents {
  checkNeeds(components);
  const slots = new Map<string, Slot>();
  const end = new AbortController();
  const ending = signalForMany(AbortSignal.any([signal, end.signal]));
  const health = async (name: string): Promise<ComponentHealth> => {
    const slot = slots.get(name);
    if (slot?.running === undefined) return { well: false, message: "not running" };
    return (await slot.running.healthy?.()) ?? { well: true, message: "ok" };
  };
  const cluster: ClusterContext = { ...context, health };
  const turns = new TurnLimit(STARTS_PER_TURN);
  for (const component of ordered(components)) {
    const needs = component.needs.map((name) => slots.get(name)!);
    slots.set(component.name, startSlot(component, { needs, turns, ending }, cluster, options));
  }
  const all = [...slots.values()];
  const done = stopInOrder(all, cluster, ending, end);
  const ready = Promise.all(all.map((slot) => slot.ready)).then(() => undefined);
  ready.catch(() => end.abort());
  return { ready, done, health };
}

function startSlot(
  component: Component,
  { needs, turns, ending }: StartWhen,
  cluster: ClusterContext,
  { onReady }: RunComponentsOptions,
): Slot {
  const life = new AbortController();
  const ready = deferred<void>();
  const done = deferred<void>();
  const slot: Slot = {
    component,
    life,
    ready: ready.promise,
    done: done.promise,
    running: undefined,
  };
  const start = async (): Promise<void> => {
    await Promise.race([Promise.all(needs.map((need) => need.ready)), untilAborted(ending)]);
    await turns.begin();
    if (ending.aborted) return done.resolve();
    const startMs = cluster.clock.elapsedMs();
    const logger = cluster.logger.child({ component: component.name });
    const running = component.run({ ...cluster, logger }, life.signal);
    slot.running = running;
    running.done.then(done.resolve, done.reject);
    await Promise.race([running.ready, running.done, untilAborted(ending)]);
    if (ending.aborted) return;
    onReady?.(component.name, cluster.clock.elapsedMs() - startMs);
    ready.resolve();
  };
  start().catch((error: unknown) => {
    ready.reject(error);
    if (slot.running === undefined) done.resolve();
  });
  slot.ready.catch(() => undefined);
  slot.done.catch(() => undefined);
  return slot;
}

/** Waits for the end of the cluster, then ends each component after those that need it. */
async function stopInOrder(
  slots: readonly Slot[],
  { clock, logger }: ClusterContext,
  ending: AbortSignal,
  end: AbortController,
): Promise<void> {
  const failures: unknown[] = [];
  const ended = slots.map(({ done, life }) =>
    done.then(
      () => end.abort(),
      (error: unknown) => {
        if (!isEndOf(life.signal, error)) failures.push(error);
        end.abort();
      },
    ),
  );
  await untilAborted(ending);
  for (const { life, done, component } of slots.toReversed()) {
    life.abort();
    const late = clock.schedule(LATE_MS, () =>
      logger.warn("a component does not end", { component: component.name }),
    );
    await done.catch(() => undefined);
    late.cancel();
  }
  await Promise.all(ended);
  if (failures.length > 0) throw failures[0];
}

/** Whether a component ended because its signal aborted. */
function isEndOf(life: AbortSignal, error: unknown): boolean {
  return life.aborted && error instanceof Error && error.name === "AbortError";
}

function checkNeeds(components: readonly Component[]): void {
  const names = new Set(components.map(({ name }) => name));
  for (const { name, needs } of components) {
    const missing = needs.find((need) => !names.has(need));
    if (missing !== undefined)
      throw new Error(`component ${name} needs ${missing}, which is not run`);
  }
}

/** Every component after those that it needs. */
function ordered(components: readonly Component[]): Component[] {
  const sorted: Component[] = [];
  let rest = [...components];
  while (rest.length > 0) {
    const next = rest.filter(({ needs }) =>
      needs.every((need) => sorted.some((c) => c.name === need)),
    );
    if (next.length === 0)
      throw new Error(`components need each other: ${rest.map((c) => c.name)}`);
    sorted.push(...next);
    rest = rest.filter((component) => !next.includes(component));
  }
  return sorted;
}
