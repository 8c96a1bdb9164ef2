/**
 * The filters of one scheduling attempt: preFilter once, then each node. Also tries a node with
 * pods added or removed, for nominated pods and for preemption.
 */
import {
  FITS,
  type NominatedPods,
  type Plugin,
  type Rejected,
  type Trial,
  unresolvable,
  type Verdict,
} from "#scheduler/plugin.ts";
import type { NodeInfo } from "#scheduler/snapshot/node-info.ts";
import type { PodInfo } from "#scheduler/snapshot/pod-info.ts";
import type { Snapshot } from "#scheduler/snapshot/snapshot.ts";
import { pluginError, runHook } from "./plugin-error.ts";
import type { Profile } from "./profile.ts";
import type { NodeResults } from "./reusable-results.ts";

export interface NodeVerdict {
  readonly verdict: Verdict;
  /** The plugin that rejected the node. */
  readonly plugin: Plugin | undefined;
}

const FITTING: NodeVerdict = { verdict: FITS, plugin: undefined };

interface ActiveFilter {
  readonly plugin: Plugin;
  state: unknown;
  /** How often the filter was asked. */
  calls: number;
}

export type PreFilterOutcome = { readonly ok: true; readonly run: FilterRun } | PreFilterRejection;

export interface PreFilterRejection {
  readonly ok: false;
  readonly rejection: Rejected;
  readonly plugins: readonly string[];
  /** The plugins that were not asked any more. */
  readonly unasked: ReadonlySet<string>;
}

/** Runs preFilter of all plugins. */
export function startFilters(
  profile: Profile,
  pod: PodInfo,
  snapshot: Snapshot,
  nominated: NominatedPods,
): PreFilterOutcome {
  const states = new Map<Plugin, unknown>();
  const skipped = new Set<Plugin>();
  const narrowing: string[] = [];
  let nodeNames: ReadonlySet<string> | undefined;
  let soft: { rejection: Rejected; plugin: string } | undefined;
  const unaskedAfter = (index: number): ReadonlySet<string> =>
    new Set(profile.preFilter.slice(index + 1).map(({ name }) => name));
  for (const [index, plugin] of profile.preFilter.entries()) {
    const what = `running PreFilter plugin "${plugin.name}"`;
    const result = runHook(what, () => plugin.preFilter!(pod, snapshot));
    if ("fits" in result || !result.skip) profile.observer.evaluated(plugin.name, "PreFilter", 1);
    if ("fits" in result) {
      if (!result.preemptionMayHelp) {
        const plugins = [plugin.name];
        return { ok: false, rejection: result, plugins, unasked: unaskedAfter(index) };
      }
      soft = { rejection: result, plugin: plugin.name };
      continue;
    }
    if (result.skip) {
      skipped.add(plugin);
      continue;
    }
    states.set(plugin, result.state);
    if (result.nodeNames === undefined) continue;
    narrowing.push(plugin.name);
    const names = result.nodeNames;
    nodeNames =
      nodeNames === undefined ? names : new Set([...nodeNames].filter((name) => names.has(name)));
    if (nodeNames.size === 0) {
      const rejection = noCommonNode(narrowing);
      return { ok: false, rejection, plugins: narrowing, unasked: unaskedAfter(index) };
    }
  }
  if (soft !== undefined) {
    const { rejection, plugin } = soft;
    return { ok: false, rejection, plugins: [plugin], unasked: new Set() };
  }
  const active = profile.filter
    .filter((plugin) => !skipped.has(plugin))
    .map((plugin) => ({ plugin, state: states.get(plugin), calls: 0 }));
  return {
    ok: true,
    run: new FilterRun(pod, active, states, nominated, nodeNames, narrowing.toSorted()),
  };
}

export class FilterRun {
  readonly pod: PodInfo;
  /** What preFilter returned, by plugin. */
  readonly states: ReadonlyMap<Plugin, unknown>;
  /** The only nodes worth trying, if plugins named them. */
  readonly nodeNames: ReadonlySet<string> | undefined;
  /** The plugins that named them. */
  readonly narrowing: readonly string[];
  readonly #active: readonly ActiveFilter[];
  /** Those whose verdicts can be kept, and the others. */
  readonly #byNode: readonly ActiveFilter[];
  readonly #others: readonly ActiveFilter[];
  readonly #nominated: NominatedPods;
  /** No filter's state depends on the pods that are added to a node. */
  readonly #isFixed: boolean;

  constructor(
    pod: PodInfo,
    active: readonly ActiveFilter[],
    states: ReadonlyMap<Plugin, unknown>,
    nominated: NominatedPods,
    nodeNames: ReadonlySet<string> | undefined,
    narrowing: readonly string[],
  ) {
    this.pod = pod;
    this.states = states;
    this.nodeNames = nodeNames;
    this.narrowing = narrowing;
    this.#active = active;
    this.#byNode = active.filter(({ plugin }) => plugin.filtersByNodeOnly === true);
    this.#others = active.filter(({ plugin }) => plugin.filtersByNodeOnly !== true);
    this.#nominated = nominated;
    this.#isFixed = active.every(({ plugin }) => plugin.podAdded === undefined);
  }

  /**
   * Whether the pod fits on the node. Where pods of the same or a higher priority are nominated to
   * run on the node, it must fit with them and without them: they may not come after all.
   */
  check(node: NodeInfo): NodeVerdict {
    const others = this.#nominatedTo(node);
    if (others !== undefined) {
      const withThem = this.#checkWith(others, node);
      if (withThem.verdict !== FITS) return withThem;
    }
    return runFilters(this.#active, this.pod, node);
  }

  /** Verdicts depend on the node alone, so that a known one needs no further question. */
  get asksNodesOnly(): boolean {
    return this.#others.length === 0 && this.#nominated.size === 0;
  }

  /** The same for the node at this place, asking only the filters whose verdicts are not known. */
  checkReusing(results: NodeResults, place: number): NodeVerdict {
    const node = results.nodes[place]!;
    const nominated = this.#nominatedTo(node);
    if (nominated !== undefined) {
      const withThem = this.#checkWith(nominated, node);
      if (withThem.verdict !== FITS) return withThem;
    }
    let known = results.verdict(place);
    if (known === undefined) {
      known = runFilters(this.#byNode, this.pod, node);
      results.setVerdict(place, known);
    }
    if (this.#others.length === 0) return known;
    // The verdict is that of the first filter in the order of the profile.
    const rejector = known.plugin?.name;
    const before =
      rejector === undefined
        ? this.#others
        : this.#active
            .slice(
              0,
              this.#active.findIndex(({ plugin }) => plugin.name === rejector),
            )
            .filter(({ plugin }) => plugin.filtersByNodeOnly !== true);
    const other = runFilters(before, this.pod, node);
    return other.verdict === FITS ? known : other;
  }

  #checkWith(others: readonly PodInfo[], node: NodeInfo): NodeVerdict {
    if (this.#isFixed) {
      return runFilters(this.#active, this.pod, this.#nominated.nodeWith(node, others));
    }
    const trial = new NodeTrial(this.pod, this.#active, node);
    for (const other of others) trial.add(other);
    return trial.check();
  }

  /** How often each filter was asked about a node; verdicts that were reused do not count. */
  *evaluations(): Iterable<readonly [plugin: string, times: number]> {
    for (const { plugin, calls } of this.#active) yield [plugin.name, calls];
  }

  /** See PostFilterContext. */
  get isRepeatable(): boolean {
    return this.#others.length === 0;
  }

  /** A copy of the node that can be changed. */
  trial(node: NodeInfo): Trial {
    const trial = new NodeTrial(this.pod, this.#active, node);
    return {
      node: trial.node,
      add: (pod) => trial.add(pod),
      remove: (pod) => trial.remove(pod),
      verdict: () => {
        const others = this.#nominatedTo(trial.node);
        if (others === undefined) return trial.check().verdict;
        for (const other of others) trial.add(other);
        const withThem = trial.check().verdict;
        for (const other of others) trial.remove(other);
        return withThem === FITS ? trial.check().verdict : withThem;
      },
    };
  }

  #nominatedTo(node: NodeInfo): readonly PodInfo[] | undefined {
    if (this.#nominated.size === 0) return undefined;
    const all = this.#nominated.onNode(node.name);
    if (all.length === 0) return undefined;
    const { uid, priority } = this.pod;
    const isOther = (other: PodInfo): boolean => other.priority >= priority && other.uid !== uid;
    if (all.every(isOther)) return all;
    const others = all.filter(isOther);
    return others.length === 0 ? undefined : others;
  }
}

function runFilters(active: readonly ActiveFilter[], pod: PodInfo, node: NodeInfo): NodeVerdict {
  for (const filter of active) {
    const { plugin, state } = filter;
    filter.calls += 1;
    let verdict: Verdict;
    try {
      verdict = plugin.filter!(state, pod, node);
    } catch (error) {
      throw pluginError(`running "${plugin.name}" filter plugin`, error);
    }
    if (verdict !== FITS) return { verdict, plugin };
  }
  return FITTING;
}

class NodeTrial {
  readonly node: NodeInfo;
  readonly #pod: PodInfo;
  readonly #active: readonly ActiveFilter[];

  constructor(pod: PodInfo, active: readonly ActiveFilter[], node: NodeInfo) {
    this.node = node.copy();
    this.#pod = pod;
    this.#active = active.map(({ plugin, state }) => ({
      plugin,
      state: plugin.copyState === undefined ? state : plugin.copyState(state),
      calls: 0,
    }));
  }

  add(other: PodInfo): void {
    this.node.addPod(other);
    for (const { plugin, state } of this.#active) {
      plugin.podAdded?.(state, this.#pod, other, this.node);
    }
  }

  remove(other: PodInfo): void {
    this.node.removePod(other.uid);
    for (const { plugin, state } of this.#active) {
      plugin.podRemoved?.(state, this.#pod, other, this.node);
    }
  }

  check(): NodeVerdict {
    return runFilters(this.#active, this.#pod, this.node);
  }
}

function noCommonNode(plugins: readonly string[]): Rejected {
  const [only] = plugins;
  return plugins.length === 1
    ? unresolvable(`node(s) didn't satisfy plugin ${only}`)
    : unresolvable(
        `node(s) didn't satisfy plugin(s) [${plugins.toSorted().join(" ")}] simultaneously`,
      );
}
