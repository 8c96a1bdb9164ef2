/**
 * A profile: the plugins that decide for the pods of one scheduler name, by hook and in order.
 */
import { type ProfileObserver, UNOBSERVED } from "#scheduler/metrics/extension-points.ts";
import type { AnyWakeRule, EventName, Plugin } from "#scheduler/plugin.ts";

export interface Profile {
  readonly schedulerName: string;
  readonly queueSort: Plugin | undefined;
  readonly preEnqueue: readonly Plugin[];
  readonly preFilter: readonly Plugin[];
  readonly filter: readonly Plugin[];
  readonly postFilter: readonly Plugin[];
  readonly preScore: readonly Plugin[];
  readonly score: readonly { readonly plugin: Plugin; readonly weight: number }[];
  readonly reserve: readonly Plugin[];
  readonly permit: readonly Plugin[];
  readonly preBind: readonly Plugin[];
  readonly bind: readonly Plugin[];
  readonly postBind: readonly Plugin[];
  /** Undefined: by the number of nodes. */
  readonly percentageOfNodesToScore: number | undefined;
  /** The rules by which a plugin's rejection is reconsidered; undefined for "any change". */
  readonly wakeRules: ReadonlyMap<string, ReadonlyMap<EventName, AnyWakeRule> | undefined>;
  /** For metrics. */
  readonly observer: ProfileObserver;
}

export const HOOKS = [
  "queueSort",
  "preEnqueue",
  "preFilter",
  "filter",
  "postFilter",
  "preScore",
  "score",
  "reserve",
  "permit",
  "preBind",
  "bind",
  "postBind",
] as const;

export type Hook = (typeof HOOKS)[number];

export interface EnabledPlugin {
  readonly plugin: Plugin;
  readonly weight: number;
}

/** Makes a profile from the plugins that are enabled for each hook. */
export function createProfile(
  schedulerName: string,
  enabled: (hook: Hook) => readonly EnabledPlugin[],
  percentageOfNodesToScore?: number,
): Profile {
  const of = (hook: Hook): readonly Plugin[] => enabled(hook).map(({ plugin }) => plugin);
  const all = new Map(HOOKS.flatMap((hook) => of(hook).map((plugin) => [plugin.name, plugin])));
  return {
    schedulerName,
    queueSort: of("queueSort")[0],
    preEnqueue: of("preEnqueue"),
    preFilter: of("preFilter"),
    filter: of("filter"),
    postFilter: of("postFilter"),
    preScore: of("preScore"),
    score: enabled("score"),
    reserve: of("reserve"),
    permit: of("permit"),
    preBind: of("preBind"),
    bind: of("bind"),
    postBind: of("postBind"),
    percentageOfNodesToScore,
    wakeRules: new Map([...all.values()].map((plugin) => [plugin.name, rulesOf(plugin)])),
    observer: UNOBSERVED,
  };
}

function rulesOf({ wakeOn }: Plugin): ReadonlyMap<EventName, AnyWakeRule> | undefined {
  return wakeOn === undefined ? undefined : new Map(wakeOn.map((rule) => [rule.event, rule]));
}
