/**
 * Which way a decision takes, by looking ahead only as far as needed. Ways are followed at once:
 * first as if the rule had been called from anywhere; where two ways cannot be told apart so, again
 * with the real callers. Where no way fits, the text of the resulting error depends on how far that
 * look went, so this follows the generator that cel-go's parser comes from.
 */
import type { Automaton, Decision, State } from "./automaton.ts";
import { END, type Token } from "./tokens.ts";

/** Where the callers of the rule at hand go on, innermost first. */
export interface Callers {
  readonly to: State;
  readonly outer: Callers | undefined;
}

export type Prediction =
  | { readonly type: "way"; readonly way: number }
  | { readonly type: "none"; readonly offending: Token };

/** What looks ahead found out before; one goes with each automaton. */
export class Predictions {
  readonly #automaton: Automaton;
  readonly #anywhere = new Map<Decision, Simulation>();

  constructor(automaton: Automaton) {
    this.#automaton = automaton;
  }

  /** `lookahead(n)` is the n-th token from here, counted from 0. */
  predict(
    decision: Decision,
    callers: () => Callers | undefined,
    lookahead: (n: number) => Token,
  ): Prediction {
    const first = lookahead(0).kind;
    const { looks } = decision;
    let fitting = -1;
    for (let way = 0; way < looks.length; way++) {
      if (!looks[way]!.has(first)) continue;
      if (fitting !== -1) return this.#simulate(decision, callers, lookahead);
      fitting = way;
    }
    if (fitting === -1) return this.#simulate(decision, callers, lookahead);
    return { type: "way", way: fitting };
  }

  #simulate(
    decision: Decision,
    callers: () => Callers | undefined,
    lookahead: (n: number) => Token,
  ): Prediction {
    let anywhere = this.#anywhere.get(decision);
    if (anywhere === undefined || anywhere.size > KNOWN_MAX) {
      anywhere = new Simulation(this.#automaton, decision, undefined);
      this.#anywhere.set(decision, anywhere);
    }
    const found = anywhere.run(lookahead);
    if (found !== undefined) return found;
    const real = { callers: callers() };
    return new Simulation(this.#automaton, decision, real).run(lookahead)!;
  }
}

/** So many points of lookahead are remembered for a decision. */
const KNOWN_MAX = 5000;

/** A state that one way may be in. */
interface Branch {
  readonly state: State;
  readonly way: number;
  readonly stack: Stack | undefined;
  /** It has left the rule of the decision. */
  readonly left: boolean;
}

interface Stack {
  readonly id: number;
  readonly to: State;
  readonly outer: Stack | undefined;
}

/** Where all ways are after some tokens, and what each next token leads to. */
interface Point {
  readonly branches: readonly Branch[];
  readonly next: Map<number, Outcome>;
}

type Outcome =
  | { readonly type: "point"; readonly point: Point }
  | { readonly type: "way"; readonly way: number }
  | { readonly type: "none" | "clash" };

class Simulation {
  readonly #stacks = new Map<string, Stack>();
  readonly #automaton: Automaton;
  readonly #real: boolean;
  readonly #start: Point;
  size = 0;

  constructor(
    automaton: Automaton,
    { state }: Decision,
    real: { readonly callers: Callers | undefined } | undefined,
  ) {
    this.#automaton = automaton;
    this.#real = real !== undefined;
    const chain: State[] = [];
    for (let at = real?.callers; at !== undefined; at = at.outer) chain.push(at.to);
    const stack = chain.reduceRight<Stack | undefined>(
      (outer, to) => this.#push(to, outer),
      undefined,
    );
    const ways = state.edges.map(({ to }, way) => ({ state: to, way, stack, left: false }));
    this.#start = { branches: this.#close(ways), next: new Map() };
  }

  /** Undefined if two ways cannot be told apart without the real callers. */
  run(lookahead: (n: number) => Token): Prediction | undefined {
    let point = this.#start;
    for (let n = 0; ; n++) {
      const token = lookahead(n);
      let outcome = point.next.get(token.kind);
      if (outcome === undefined) {
        outcome = this.#advance(point.branches, token.kind);
        point.next.set(token.kind, outcome);
        this.size++;
      }
      switch (outcome.type) {
        case "point":
          point = outcome.point;
          break;
        case "way":
          return outcome;
        case "none":
          return { type: "none", offending: token };
        case "clash":
          return undefined;
      }
    }
  }

  #advance(branches: readonly Branch[], kind: number): Outcome {
    const next = this.#step(branches, kind);
    if (next.length === 0) {
      const ended = branches.filter(({ state, stack, left }) => {
        return left || (state.kind === "ruleStop" && stack === undefined);
      });
      if (ended.length === 0) return { type: "none" };
      return { type: "way", way: Math.min(...ended.map(({ way }) => way)) };
    }
    const [{ way }] = next as [Branch];
    if (next.every((branch) => branch.way === way)) return { type: "way", way };
    if (this.#real) {
      const sole = soleWay(next);
      if (sole !== undefined) return { type: "way", way: sole };
    } else if (isClash(next)) {
      return { type: "clash" };
    }
    return { type: "point", point: { branches: next, next: new Map() } };
  }

  #step(branches: readonly Branch[], kind: number): Branch[] {
    const moved: Branch[] = [];
    const stopped: Branch[] = [];
    for (const branch of branches) {
      if (branch.state.kind === "ruleStop") {
        if (this.#real || kind === END) stopped.push(branch);
        continue;
      }
      for (const edge of branch.state.edges) {
        if (edge.type === "token" && edge.kinds.has(kind))
          moved.push({ ...branch, state: edge.to });
      }
    }
    let next = this.#close(moved);
    if (kind === END) next = next.filter(({ state }) => state.kind === "ruleStop");
    if (!this.#real || !next.some(({ state }) => state.kind === "ruleStop")) next.push(...stopped);
    return next;
  }

  /** All branches that can be reached without a token and either wait for one or are at an end. */
  #close(branches: readonly Branch[]): Branch[] {
    const seen = new Set<string>();
    const waiting: Branch[] = [];
    const pending = branches.toReversed();
    for (let branch = pending.pop(); branch !== undefined; branch = pending.pop()) {
      const key = `${branch.state.id} ${branch.way} ${branch.stack?.id ?? -1}`;
      if (seen.has(key)) continue;
      seen.add(key);
      const followers = this.#followers(branch);
      if (followers === undefined) waiting.push(branch);
      else pending.push(...followers.toReversed());
    }
    return waiting;
  }

  #followers(branch: Branch): Branch[] | undefined {
    const { state, stack } = branch;
    if (state.kind === "ruleStop") {
      if (stack !== undefined) return [{ ...branch, state: stack.to, stack: stack.outer }];
      if (this.#real || state.edges.length === 0) return undefined;
      return state.edges.map(({ to }) => ({ ...branch, state: to, left: true }));
    }
    if (state.edges.some(({ type }) => type === "token")) return undefined;
    return state.edges.map((edge) => {
      if (edge.type !== "call") return { ...branch, state: edge.to };
      const called = this.#automaton.rules.get(edge.rule)!.start;
      return { ...branch, state: called, stack: this.#push(edge.to, stack) };
    });
  }

  #push(to: State, outer: Stack | undefined): Stack {
    const key = `${to.id} ${outer?.id ?? -1}`;
    let stack = this.#stacks.get(key);
    if (stack === undefined) {
      stack = { id: this.#stacks.size, to, outer };
      this.#stacks.set(key, stack);
    }
    return stack;
  }
}

/** Two ways are in the same place, and no place is one way's alone. */
function isClash(branches: readonly Branch[]): boolean {
  if (branches.every(({ state }) => state.kind === "ruleStop")) return true;
  const byPlace = groupWays(branches, ({ state, stack }) => `${state.id} ${stack?.id ?? -1}`);
  if (!byPlace.some((ways) => ways.size > 1)) return false;
  return groupWays(branches, ({ state }) => `${state.id}`).every((ways) => ways.size > 1);
}

/** The way that is the first in every place. */
function soleWay(branches: readonly Branch[]): number | undefined {
  const groups = groupWays(branches, ({ state, stack }) => `${state.id} ${stack?.id ?? -1}`);
  const firsts = new Set(groups.map((ways) => Math.min(...ways)));
  return firsts.size === 1 ? [...firsts][0] : undefined;
}

function groupWays(
  branches: readonly Branch[],
  keyOf: (branch: Branch) => string,
): ReadonlySet<number>[] {
  const groups = new Map<string, Set<number>>();
  for (const branch of branches) {
    const key = keyOf(branch);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, new Set([branch.way]));
    else group.add(branch.way);
  }
  return [...groups.values()];
}
