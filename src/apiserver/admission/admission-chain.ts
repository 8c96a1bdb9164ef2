/** The chain of admission plug-ins, as the verbs see it. */
import type { Status } from "#api/generated/meta.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import { type Result, success } from "#api/meta/status.ts";
import { andThen, type MaybePromise } from "#lib/async/maybe-promise.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { AdmissionMetrics, ObserveAdmission } from "../metrics/admission-metrics.ts";
import type { Objects } from "../storage/objects.ts";
import type { AdmissionRequest, Operation } from "./admission-request.ts";
import type { AdmissionContext, AdmissionPlugin } from "./plugin.ts";

export interface Admission {
  /** The object as the mutating plug-ins leave it, or the Status of the first that refuses. */
  admit<Written extends KubeObject | undefined>(
    request: AdmissionRequest<Written>,
  ): MaybePromise<Result<Written>>;
  /** The Status of the first validating plug-in that refuses. */
  validate(request: AdmissionRequest): MaybePromise<Status | undefined>;
}

export function createAdmission(
  plugins: readonly AdmissionPlugin[],
  objects: Objects,
  clock: Clock,
  metrics: AdmissionMetrics,
): Admission {
  const admitting = byOperation((operation) => chainOf(plugins, "admit", operation, metrics));
  const validating = byOperation((operation) => chainOf(plugins, "validate", operation, metrics));
  return {
    admit: (request) => {
      const { hooks, observe } = admitting[request.operation];
      const startMs = clock.elapsedMs();
      const context = { objects, nowMs: clock.nowMs() };
      const begun: Pass = { request, reinvoke: false, memory: undefined };
      const admitted = andThen(admitAll(hooks, 0, begun, context, clock, startMs), (first) => {
        if (!first.ok || !first.value.reinvoke) return first;
        const reinvocation = first.value.memory ?? new Map();
        const again = { ...begun, request: first.value.request };
        const now = clock.elapsedMs();
        return admitAll(hooks, 0, again, { ...context, reinvocation }, clock, now);
      });
      return andThen(admitted, (last) => {
        observe(!last.ok, (clock.elapsedMs() - startMs) / 1000);
        // A request without an object has none to change, and one with an object keeps one.
        return last.ok ? success(last.value.request.object as typeof request.object) : last;
      });
    },
    validate: (request) => {
      const { hooks, observe } = validating[request.operation];
      const startMs = clock.elapsedMs();
      const context = { objects, nowMs: clock.nowMs() };
      return andThen(validateAll(hooks, 0, request, context, clock, startMs), (refusal) => {
        observe(refusal !== undefined, (clock.elapsedMs() - startMs) / 1000);
        return refusal;
      });
    },
  };
}

type Step = "admit" | "validate";
type HookOf<S extends Step> = NonNullable<AdmissionPlugin[S]>;

/** A plug-in's hook for one operation. */
interface Hook<S extends Step> {
  readonly plugin: string;
  readonly ask: HookOf<S>;
  readonly observe: ObserveAdmission;
}

/** All hooks of a step for one operation. */
interface Chain<S extends Step> {
  readonly hooks: readonly Hook<S>[];
  readonly observe: ObserveAdmission;
}

function chainOf<S extends Step>(
  plugins: readonly AdmissionPlugin[],
  step: S,
  operation: Operation,
  metrics: AdmissionMetrics,
): Chain<S> {
  const hooks = plugins.flatMap((plugin) => {
    const hook = plugin[step];
    if (hook === undefined || plugin.operations?.includes(operation) === false) return [];
    const ask = hook.bind(plugin) as HookOf<S>;
    return [{ plugin: plugin.name, ask, observe: metrics.plugin(plugin.name, step, operation) }];
  });
  return { hooks, observe: metrics.step(step, operation) };
}

function byOperation<T>(make: (operation: Operation) => T): Readonly<Record<Operation, T>> {
  return {
    CREATE: make("CREATE"),
    UPDATE: make("UPDATE"),
    DELETE: make("DELETE"),
    CONNECT: make("CONNECT"),
  };
}

/** How far one pass over the mutating hooks is. */
interface Pass {
  readonly request: AdmissionRequest;
  readonly reinvoke: boolean;
  readonly memory: ReadonlyMap<string, unknown> | undefined;
}

/** One hook after the other until one refuses; where one ends, the time of the next begins. */
function admitAll(
  hooks: readonly Hook<"admit">[],
  from: number,
  begun: Pass,
  context: AdmissionContext,
  clock: Clock,
  beginMs: number,
): MaybePromise<Result<Pass>> {
  let startMs = beginMs;
  let pass = begun;
  for (let at = from; at < hooks.length; at++) {
    const hook = hooks[at]!;
    const asked = hook.ask(pass.request, context);
    if (asked instanceof Promise) {
      const before = pass;
      return asked.then((verdict) => {
        const endMs = clock.elapsedMs();
        hook.observe(verdict?.ok === false, (endMs - startMs) / 1000);
        if (verdict?.ok === false) return verdict;
        const next = verdict === undefined ? before : passAfter(before, hook.plugin, verdict);
        return admitAll(hooks, at + 1, next, context, clock, endMs);
      });
    }
    const endMs = clock.elapsedMs();
    hook.observe(asked?.ok === false, (endMs - startMs) / 1000);
    startMs = endMs;
    if (asked?.ok === false) return asked;
    if (asked !== undefined) pass = passAfter(pass, hook.plugin, asked);
  }
  return success(pass);
}

function passAfter(
  { request, reinvoke, memory }: Pass,
  plugin: string,
  admitted: { readonly value: KubeObject; readonly reinvoke?: boolean; readonly memory?: unknown },
): Pass {
  return {
    request: admitted.value === request.object ? request : { ...request, object: admitted.value },
    reinvoke: reinvoke || admitted.reinvoke === true,
    memory: admitted.memory === undefined ? memory : new Map(memory).set(plugin, admitted.memory),
  };
}

function validateAll(
  hooks: readonly Hook<"validate">[],
  from: number,
  request: AdmissionRequest,
  context: AdmissionContext,
  clock: Clock,
  beginMs: number,
): MaybePromise<Status | undefined> {
  let startMs = beginMs;
  for (let at = from; at < hooks.length; at++) {
    const { ask, observe } = hooks[at]!;
    const answer = ask(request, context);
    if (answer instanceof Promise) {
      return answer.then((refusal) => {
        const endMs = clock.elapsedMs();
        observe(refusal !== undefined, (endMs - startMs) / 1000);
        return refusal ?? validateAll(hooks, at + 1, request, context, clock, endMs);
      });
    }
    const endMs = clock.elapsedMs();
    observe(answer !== undefined, (endMs - startMs) / 1000);
    startMs = endMs;
    if (answer !== undefined) return answer;
  }
  return undefined;
}
