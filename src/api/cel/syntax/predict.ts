/**
 * Which way a decision takes, by looking ahead only as far as needed. Ways are followed at once, as
 * if the current rule had been called from anywhere. Where no way fits, the text of the resulting
 * error depends on how far that look went, so this follows the generator that cel-go's parser comes
 * from. Two ways that end in the same places (a minus is an operator or part of a number) are one
 * to the grammar: the first is taken.
 */
import type { Automaton, Decision, State } from "./automaton.ts";
import { END, type Token } from "./tokens.ts";

export type Prediction =
  | { readonly type: "way"; readonly way: number }
  | { readonly type: "none"; readonly offending: Token };

/** What looks ahead found out before; one goes with each automaton. */
export class Predictions {
  readonly #automaton: Automaton;
  readonly #simulations = new Map<Decision, Simulation>();

  constructor(automaton: Automaton) {
    this.#automaton = automaton;
  }

  /** `lookahead(n)` is the n-th token from here, counted from 0. */
  predict(decision: Decision, lookahead: (n: number) => Token): Prediction {
    const first = lookahead(0).kind;
    const { looks } = decision;
    let fitting = -1;
    for (let way = 0; way < looks.length; way++) {
      if (!looks[way]!.has(first)) continue;
      if (fitting !== -1) return this.#simulate(decision, lookahead);
      fitting = way;
    }
    if (fitting === -1) return this.#simulate(decision, lookahead);
    return { type: "way", way: fitting };
  }

  #simulate(decision: Decision, lookahead: (n: number) => Token): Prediction {
    let simulation = this.#simulations.get(decision);
    if (simulation === undefined || simulation.size > KNOWN_MAX) {
      simulation = new Simulation(this.#automaton, decision);
      this.#simulations.set(decision, simulation);
    }
    return simulation.run(lookahead);
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
  | { readonly type: "none" };

class Simulation {
  readonly #stacks = new Map<string, Stack>();
  readonly #points = new Map<string, Point>();
  readonly #automaton: Automaton;
  readonly #start: Point;

  constructor(automaton: Automaton, { state }: Decision) {
    this.#automaton = automaton;
    const ways = state.edges.map(({ to }, way) => {
      return { state: to, way, stack: undefined, left: false };
    });
    this.#start = this.#point(this.#close(ways));
  }

  get size(): number {
    return this.#points.size;
  }

  run(lookahead: (n: number) => Token): Prediction {
    let point = this.#start;
    for (let n = 0; ; n++) {
      const token = lookahead(n);
      let outcome = point.next.get(token.kind);
      if (outcome === undefined) {
        outcome = this.#advance(point.branches, token.kind);
        point.next.set(token.kind, outcome);
      }
      if (outcome.type === "way") return outcome;
      if (outcome.type === "none") return { type: "none", offending: token };
      point = outcome.point;
    }
  }

  #advance(branches: readonly Branch[], kind: number): Outcome {
    const next = this.#step(branches, kind);
    if (next.length === 0) {
      const ended = branches.filter(({ state, stack, left }) => {
        return left || (state.kind === "ruleStop" && stack === undefined);
      });
      return ended.length === 0 ? { type: "none" } : { type: "way", way: firstWay(ended) };
    }
    const way = firstWay(next);
    const decided = next.every((branch) => branch.way === way) || isClash(next);
    return decided ? { type: "way", way } : { type: "point", point: this.#point(next) };
  }

  /** Places that come up again, as along `a.b.c`, are looked at once. */
  #point(branches: readonly Branch[]): Point {
    const key = branches
      .map(({ state, way, stack, left }) => `${state.id} ${way} ${stack?.id ?? -1} ${left}`)
      .join();
    let point = this.#points.get(key);
    if (point === undefined) {
      point = { branches, next: new Map() };
      this.#points.set(key, point);
    }
    return point;
  }

  #step(branches: readonly Branch[], kind: number): Branch[] {
    const moved: Branch[] = [];
    const stopped: Branch[] = [];
    for (const branch of branches) {
      if (branch.state.kind === "ruleStop") {
        if (kind === END) stopped.push(branch);
        continue;
      }
      for (const edge of branch.state.edges) {
        if (edge.type === "token" && edge.kinds.has(kind))
          moved.push({ ...branch, state: edge.to });
      }
    }
    let next = this.#close(moved);
    if (kind === END) next = next.filter(({ state }) => state.kind === "ruleStop");
    return [...next, ...stopped];
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
      if (state.edges.length === 0) return undefined;
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

function firstWay(branches: readonly Branch[]): number {
  return branches.reduce((first, { way }) => Math.min(first, way), Infinity);
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
