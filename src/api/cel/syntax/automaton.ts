/**
 * The grammar as a network of states, from which follows what may come next at any place of a parse.
 * Each decision of the parser and each token it matches has a state of its own.
 */
import { type Alternative, GRAMMAR, type Item, type RuleName } from "./grammar.ts";
import { END } from "./tokens.ts";

export type StateKind = "plain" | "choice" | "loopEntry" | "loopBack" | "ruleStop";

export interface State {
  readonly id: number;
  readonly rule: RuleName;
  readonly kind: StateKind;
  readonly edges: Edge[];
}

export type Edge =
  | { readonly type: "free"; readonly to: State }
  | { readonly type: "precedence"; readonly level: number; readonly to: State }
  | { readonly type: "token"; readonly kinds: ReadonlySet<number>; readonly to: State }
  | {
      readonly type: "call";
      readonly rule: RuleName;
      readonly precedence: number;
      /** Where the caller goes on. */
      readonly to: State;
    };

/** A place where the parser decides between ways. */
export interface Decision {
  /** Its edges are the ways; for loops the last one leaves. */
  readonly state: State;
  /** The first tokens of each way, with whatever may follow the rule anywhere. */
  readonly looks: readonly ReadonlySet<number>[];
  /** One token of look-ahead decides. */
  readonly simple: boolean;
}

/** States of an item: `state` before it; loops have one more, between turns. */
export interface Place {
  readonly state: State;
  readonly decision?: Decision;
  readonly loopBack?: State;
}

export interface Automaton {
  readonly places: ReadonlyMap<Item, Place>;
  readonly rules: ReadonlyMap<RuleName, RulePlaces>;
  /** What may come next; "epsilon" if the rule may be over. */
  next(state: State): NextTokens;
}

export interface RulePlaces {
  readonly start: State;
  readonly stop: State;
  /** Between alternatives, if there are several. */
  readonly choice: Decision | undefined;
  readonly loop:
    | { readonly entry: State; readonly back: State; readonly choice: Decision }
    | undefined;
}

export interface NextTokens {
  readonly kinds: ReadonlySet<number>;
  readonly mayEnd: boolean;
}

export function buildAutomaton(): Automaton {
  const builder = new Builder();
  for (const rule of Object.keys(GRAMMAR) as RuleName[]) builder.buildRule(rule);
  return builder.finish();
}

/** Filled in once the whole network stands. */
interface OpenDecision {
  readonly state: State;
  looks: readonly ReadonlySet<number>[];
  simple: boolean;
}

class Builder {
  readonly #starts = new Map<RuleName, State>();
  readonly #stops = new Map<RuleName, State>();
  readonly #places = new Map<Item, Place>();
  readonly #rules = new Map<RuleName, RulePlaces>();
  readonly #decisions: OpenDecision[] = [];
  readonly #returns = new Map<RuleName, State[]>();
  readonly #next = new Map<State, NextTokens>();
  #count = 0;

  constructor() {
    for (const rule of Object.keys(GRAMMAR) as RuleName[]) {
      this.#starts.set(rule, this.#state(rule, "plain"));
      this.#stops.set(rule, this.#state(rule, "ruleStop"));
      this.#returns.set(rule, []);
    }
  }

  buildRule(rule: RuleName): void {
    const { alternatives, turns } = GRAMMAR[rule];
    const start = this.#starts.get(rule)!;
    const stop = this.#stops.get(rule)!;
    if (turns === undefined) {
      const choice = this.#alternatives(rule, alternatives, start, stop);
      this.#rules.set(rule, { start, stop, choice, loop: undefined });
      return;
    }
    const entry = this.#state(rule, "loopEntry");
    const body = this.#state(rule, "plain");
    const back = this.#state(rule, "loopBack");
    this.#alternatives(rule, alternatives, start, entry);
    entry.edges.push({ type: "free", to: body }, { type: "free", to: stop });
    back.edges.push({ type: "free", to: entry });
    const choice = this.#turns(rule, turns, body, back);
    this.#rules.set(rule, { start, stop, choice: undefined, loop: { entry, back, choice } });
  }

  finish(): Automaton {
    // From where a rule ends, a look that knows no caller goes on behind each call of it.
    for (const [rule, states] of this.#returns) {
      const stop = this.#stops.get(rule)!;
      for (const to of states) stop.edges.push({ type: "free", to });
    }
    for (const decision of this.#decisions) {
      decision.looks = decision.state.edges.map(({ to }) => this.#look(to));
      decision.simple = areDisjoint(decision.looks);
    }
    return { places: this.#places, rules: this.#rules, next: (state) => this.#nextOf(state) };
  }

  #alternatives(
    rule: RuleName,
    alternatives: readonly Alternative[],
    from: State,
    to: State,
  ): Decision | undefined {
    if (alternatives.length === 1) {
      this.#sequence(rule, alternatives[0]!.items, from, to);
      return undefined;
    }
    const choice = this.#state(rule, "choice");
    const end = this.#state(rule, "plain");
    from.edges.push({ type: "free", to: choice });
    end.edges.push({ type: "free", to });
    for (const { items } of alternatives) this.#part(rule, items, this.#way(choice), end);
    return this.#decision(choice);
  }

  #turns(rule: RuleName, turns: readonly Alternative[], from: State, to: State): Decision {
    const choice = this.#state(rule, "choice");
    from.edges.push({ type: "free", to: choice });
    for (const { items, precedence } of turns) {
      const first = this.#state(rule, "plain");
      this.#way(choice).edges.push({ type: "precedence", level: precedence!, to: first });
      this.#part(rule, items, first, to);
    }
    return this.#decision(choice);
  }

  /** A way through a choice or loop. All ways end in the same state: so they can be found equal. */
  #part(rule: RuleName, items: readonly Item[], from: State, to: State): void {
    let at = from;
    for (const item of items.slice(0, -1)) at = this.#item(rule, item, at);
    this.#item(rule, items.at(-1)!, at, to);
  }

  #sequence(rule: RuleName, items: readonly Item[], from: State, to: State): void {
    let at = from;
    for (const item of items) at = this.#item(rule, item, at);
    at.edges.push({ type: "free", to });
  }

  /** Joins an item to a state and gives the state behind it. */
  #item(rule: RuleName, item: Item, from: State, after = this.#state(rule, "plain")): State {
    switch (item.type) {
      case "token": {
        const state = this.#joined(rule, "plain", from);
        state.edges.push({ type: "token", kinds: item.kinds, to: after });
        this.#places.set(item, { state });
        return after;
      }
      case "rule": {
        const state = this.#joined(rule, "plain", from);
        state.edges.push({
          type: "call",
          rule: item.rule,
          precedence: item.precedence,
          to: after,
        });
        this.#returns.get(item.rule)!.push(after);
        this.#places.set(item, { state });
        return after;
      }
      case "optional": {
        const state = this.#joined(rule, "choice", from);
        this.#part(rule, item.body, this.#way(state), after);
        state.edges.push({ type: "free", to: after });
        this.#places.set(item, { state, decision: this.#decision(state) });
        return after;
      }
      case "star": {
        const state = this.#joined(rule, "loopEntry", from);
        const loopBack = this.#state(rule, "loopBack");
        loopBack.edges.push({ type: "free", to: state });
        this.#part(rule, item.body, this.#way(state), loopBack);
        state.edges.push({ type: "free", to: after });
        this.#places.set(item, { state, loopBack, decision: this.#decision(state) });
        return after;
      }
      case "plus": {
        const state = this.#joined(rule, "choice", from);
        const loopBack = this.#state(rule, "loopBack");
        this.#part(rule, item.body, this.#way(state), loopBack);
        loopBack.edges.push({ type: "free", to: state }, { type: "free", to: after });
        this.#places.set(item, { state, loopBack, decision: this.#decision(loopBack) });
        return after;
      }
    }
  }

  #state(rule: RuleName, kind: StateKind): State {
    return { id: this.#count++, rule, kind, edges: [] };
  }

  #joined(rule: RuleName, kind: StateKind, from: State): State {
    const state = this.#state(rule, kind);
    from.edges.push({ type: "free", to: state });
    return state;
  }

  #way(choice: State): State {
    return this.#joined(choice.rule, "plain", choice);
  }

  #decision(state: State): Decision {
    const decision = { state, looks: [], simple: false };
    this.#decisions.push(decision);
    return decision;
  }

  #nextOf(state: State): NextTokens {
    let next = this.#next.get(state);
    if (next === undefined) {
      const kinds = new Set<number>();
      const mayEnd = this.#collect(state, kinds, new Set(), true);
      next = { kinds, mayEnd };
      this.#next.set(state, next);
    }
    return next;
  }

  #look(state: State): ReadonlySet<number> {
    const kinds = new Set<number>();
    this.#collect(state, kinds, new Set(), false);
    return kinds;
  }

  /** Adds what may come next and says whether the rule may be over before anything comes. */
  #collect(state: State, kinds: Set<number>, seen: Set<State>, stopAtEnd: boolean): boolean {
    if (seen.has(state)) return false;
    seen.add(state);
    if (state.kind === "ruleStop" && stopAtEnd) return true;
    let mayEnd = false;
    for (const edge of state.edges) {
      if (edge.type === "token") {
        for (const kind of edge.kinds) kinds.add(kind);
      } else if (edge.type === "call") {
        const called = this.#nextOf(this.#starts.get(edge.rule)!);
        for (const kind of called.kinds) kinds.add(kind);
        if (called.mayEnd && this.#collect(edge.to, kinds, seen, stopAtEnd)) mayEnd = true;
      } else if (this.#collect(edge.to, kinds, seen, stopAtEnd)) {
        mayEnd = true;
      }
    }
    if (state.kind === "ruleStop" && state.edges.length === 0) kinds.add(END);
    return mayEnd;
  }
}

function areDisjoint(sets: readonly ReadonlySet<number>[]): boolean {
  const seen = new Set<number>();
  for (const set of sets) {
    for (const kind of set) {
      if (seen.has(kind)) return false;
      seen.add(kind);
    }
  }
  return true;
}
