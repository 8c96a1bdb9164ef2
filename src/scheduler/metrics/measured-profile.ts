/**
 * A profile whose plugins report how long each of their hooks took. It decides as the profile it is
 * made from. A tenth of the attempts use it, so that the clock is not read around every call.
 */
import type { Profile } from "#scheduler/cycle/profile.ts";
import type {
  Plugin,
  PostFilterResult,
  PreFilterResult,
  PreScoreResult,
} from "#scheduler/plugin.ts";
import {
  type ExtensionPoint,
  type PluginTimer,
  type ProfileObserver,
  type StatusCode,
  statusCodeOf,
} from "./extension-points.ts";

export function measuredProfile(profile: Profile, observer: ProfileObserver): Profile {
  const twins = new Map<Plugin, Plugin>();
  const twin = (plugin: Plugin): Plugin => {
    const known = twins.get(plugin) ?? measuredPlugin(plugin, observer);
    twins.set(plugin, known);
    return known;
  };
  const all = (plugins: readonly Plugin[]): readonly Plugin[] => plugins.map(twin);
  return {
    ...profile,
    preFilter: all(profile.preFilter),
    filter: all(profile.filter),
    postFilter: all(profile.postFilter),
    preScore: all(profile.preScore),
    score: profile.score.map(({ plugin, weight }) => ({ plugin: twin(plugin), weight })),
    reserve: all(profile.reserve),
    permit: all(profile.permit),
    preBind: all(profile.preBind),
    bind: all(profile.bind),
    postBind: all(profile.postBind),
  };
}

function measuredPlugin(plugin: Plugin, observer: ProfileObserver): Plugin {
  const { name } = plugin;
  // biome-ignore lint/suspicious/noExplicitAny: the arguments of a hook are handed on as they are
  type Hook = (...args: any[]) => any;
  const timedHook = (
    point: ExtensionPoint,
    hook: Hook | undefined,
    codeOf: (result: never) => StatusCode = () => "Success",
  ): Hook | undefined => {
    if (hook === undefined) return undefined;
    const ended = observer.pluginTimer(name, point);
    return (...args) => {
      const sinceMs = observer.nowMs();
      let result: unknown;
      try {
        result = hook.apply(plugin, args);
      } catch (error) {
        ended("Error", sinceMs);
        throw error;
      }
      if (result instanceof Promise) return untilEnded(result, ended, sinceMs, codeOf);
      ended(codeOf(result as never), sinceMs);
      return result;
    };
  };
  const hooks: Partial<Plugin> = {
    preFilter: timedHook("PreFilter", plugin.preFilter, preFilterCode),
    filter: timedHook("Filter", plugin.filter, statusCodeOf),
    copyState: plugin.copyState?.bind(plugin),
    podAdded: timedHook("PreFilterExtensionAddPod", plugin.podAdded),
    podRemoved: timedHook("PreFilterExtensionRemovePod", plugin.podRemoved),
    postFilter: timedHook("PostFilter", plugin.postFilter, postFilterCode),
    postFilterSteps: plugin.postFilterSteps && measuredSteps(plugin, observer),
    postFilterWithExtenders: timedHook(
      "PostFilter",
      plugin.postFilterWithExtenders,
      postFilterCode,
    ),
    preScore: timedHook("PreScore", plugin.preScore, preScoreCode),
    score: timedHook("Score", plugin.score),
    scoreNodes: plugin.scoreNodes && measuredScores(plugin, observer),
    normalize: timedHook("ScoreExtensionNormalize", plugin.normalize),
    reserve: timedHook("Reserve", plugin.reserve, statusCodeOf),
    unreserve: timedHook("Unreserve", plugin.unreserve),
    permit: timedHook("Permit", plugin.permit, statusCodeOf),
    hasPreBind: timedHook("PreBindPreFlight", plugin.hasPreBind, (isNeeded: boolean) =>
      isNeeded ? "Success" : "Skip",
    ),
    preBind: timedHook("PreBind", plugin.preBind, statusCodeOf),
    bind: timedHook("Bind", plugin.bind, statusCodeOf),
    postBind: timedHook("PostBind", plugin.postBind),
  } as Partial<Plugin>;
  const { filtersByNodeOnly = false, scoresByNodeOnly = false } = plugin;
  const present = Object.entries(hooks).filter(([, hook]) => hook !== undefined);
  return { name, filtersByNodeOnly, scoresByNodeOnly, ...Object.fromEntries(present) };
}

async function untilEnded(
  work: Promise<unknown>,
  ended: PluginTimer,
  sinceMs: number,
  codeOf: (result: never) => StatusCode,
): Promise<unknown> {
  try {
    const result = await work;
    ended(codeOf(result as never), sinceMs);
    return result;
  } catch (error) {
    ended("Error", sinceMs);
    throw error;
  }
}

/** One observation for all nodes: the mean time of a node. */
function measuredScores(
  plugin: Plugin,
  observer: ProfileObserver,
): NonNullable<Plugin["scoreNodes"]> {
  const ended = observer.pluginTimer(plugin.name, "Score");
  return (state, pod, nodes) => {
    const sinceMs = observer.nowMs();
    let code: StatusCode = "Error";
    try {
      const scores = plugin.scoreNodes!(state, pod, nodes);
      code = "Success";
      return scores;
    } finally {
      const nowMs = observer.nowMs();
      ended(code, nowMs - (nowMs - sinceMs) / Math.max(1, nodes.length));
    }
  };
}

function measuredSteps(
  plugin: Plugin,
  observer: ProfileObserver,
): NonNullable<Plugin["postFilterSteps"]> {
  const ended = observer.pluginTimer(plugin.name, "PostFilter");
  return function* (pod, context) {
    const sinceMs = observer.nowMs();
    const result = yield* plugin.postFilterSteps!(pod, context);
    ended(postFilterCode(result), sinceMs);
    return result;
  };
}

function preFilterCode(result: PreFilterResult<unknown>): StatusCode {
  if ("fits" in result) return statusCodeOf(result);
  return result.skip ? "Skip" : "Success";
}

function preScoreCode({ skip }: PreScoreResult<unknown>): StatusCode {
  return skip ? "Skip" : "Success";
}

export function postFilterCode({ succeeded, unresolvable }: PostFilterResult): StatusCode {
  if (succeeded) return "Success";
  return unresolvable === true ? "UnschedulableAndUnresolvable" : "Unschedulable";
}
