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

/** `lookahead(n)` is the n-th token from here, counted from 0. */
export function predict(
  automaton: Automaton,
  decision: Decision,
  callers: Callers | undefined,
  lookahead: (n: number) => Token,
): Prediction {
  const first = lookahead(0).kind;
  const fitting = decision.looks.flatMap((look, way) => (look.has(first) ? [way] : []));
  if (fitting.length === 1) return { type: "way", way: fitting[0]! };
  const pair = first * 64 + lookahead(1).kind;
  const known = decision.known.get(pair);
  if (known !== undefined) return { type: "way", way: known };
  const anywhere = new Simulation(automaton, decision, undefined, lookahead);
  const found = anywhere.run();
  if (found === undefined) {
    return new Simulation(automaton, decision, { callers }, lookahead).run()!;
  }
  if (found.type === "way" && anywhere.looked <= 2) decision.known.set(pair, found.way);
  return found;
}

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

class Simulation {
  readonly #stacks = new Map<string, Stack>();
  readonly #automaton: Automaton;
  readonly #decision: Decision;
  readonly #real: boolean;
  readonly #base: Stack | undefined;
  readonly #lookahead: (n: number) => Token;

  constructor(
    automaton: Automaton,
    decision: Decision,
    real: { readonly callers: Callers | undefined } | undefined,
    lookahead: (n: number) => Token,
  ) {
    this.#automaton = automaton;
    this.#decision = decision;
    this.#real = real !== undefined;
    this.#lookahead = lookahead;
    const chain: State[] = [];
    for (let at = real?.callers; at !== undefined; at = at.outer) chain.push(at.to);
    this.#base = chain.reduceRight<Stack | undefined>(
      (outer, to) => this.#push(to, outer),
      undefined,
    );
  }

  /** How many tokens it took. */
  looked = 0;

  /** Undefined if two ways cannot be told apart without the real callers. */
  run(): Prediction | undefined {
    let branches = this.#close(
      this.#decision.state.edges.map(({ to }, way) => ({
        state: to,
        way,
        stack: this.#base,
        left: false,
      })),
    );
    for (let n = 0; ; n++) {
      const token = this.#lookahead(n);
      this.looked = n + 1;
      const next = this.#step(branches, token.kind);
      if (next.length === 0) {
        const ended = branches.filter(({ state, stack, left }) => {
          return left || (state.kind === "ruleStop" && stack === undefined);
        });
        if (ended.length === 0) return { type: "none", offending: token };
        return { type: "way", way: Math.min(...ended.map(({ way }) => way)) };
      }
      const ways = new Set(next.map(({ way }) => way));
      if (ways.size === 1) return { type: "way", way: next[0]!.way };
      const clash = this.#real ? soleWay(next) : isClash(next);
      if (clash === true) return undefined;
      if (typeof clash === "number") return { type: "way", way: clash };
      branches = next;
    }
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
function soleWay(branches: readonly Branch[]): number | false {
  const groups = groupWays(branches, ({ state, stack }) => `${state.id} ${stack?.id ?? -1}`);
  const firsts = new Set(groups.map((ways) => Math.min(...ways)));
  return firsts.size === 1 ? [...firsts][0]! : false;
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
