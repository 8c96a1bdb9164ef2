/**
 * Tokens to a tree of the grammar's rules. Where tokens do not fit, recovery finds a way to go on, so
 * that one run reports all errors; it never gives up before its limits.
 */
import { lazy } from "#lib/lazy.ts";
import { buildAutomaton, type Decision, type State } from "./automaton.ts";
import type { Faults } from "./faults.ts";
import { type Alternative, GRAMMAR, type Label, type RuleName, type Sequence } from "./grammar.ts";
import { LimitReached, type Limits } from "./limits.ts";
import { Predictions } from "./predict.ts";
import { type Place, Recovery, Unexpected } from "./recovery.ts";
import type { Source } from "./source.ts";
import { SyntaxFaults } from "./syntax-faults.ts";
import { TokenCursor } from "./token-cursor.ts";
import type { Token } from "./tokens.ts";
import type { Node } from "./tree.ts";

/** The way past an optional part or out of a loop. */
const LEAVE = 1;

export interface Recognised {
  /** Undefined if a limit ended it; the error was reported. */
  readonly tree: Node | undefined;
  /** The furthest token that was looked at. */
  readonly furthest: Token;
}

export function recognise(
  source: Source,
  tokens: readonly Token[],
  faults: Faults,
  limits: Limits,
): Recognised {
  const cursor = new TokenCursor(tokens);
  const syntaxFaults = new SyntaxFaults(source, faults);
  try {
    const tree = new Recogniser(cursor, syntaxFaults, limits).run();
    return { tree, furthest: cursor.furthest };
  } catch (error) {
    if (!(error instanceof LimitReached)) throw error;
    return { tree: undefined, furthest: cursor.furthest };
  }
}

/** Asks for other rules to be parsed, and gets their nodes. */
type Parsing<Result = Node> = Generator<RuleCall, Result, Node>;

interface RuleCall {
  readonly rule: RuleName;
  readonly precedence: number;
  readonly returnTo: State;
}

const automaton = lazy(buildAutomaton);
const predictions = lazy(() => new Predictions(automaton()));

class Recogniser {
  readonly #tokens: TokenCursor;
  readonly #faults: SyntaxFaults;
  readonly #limits: Limits;
  readonly #depths = new Map<RuleName, number>();
  readonly #place: Place;
  readonly #recovery: Recovery;

  constructor(tokens: TokenCursor, faults: SyntaxFaults, limits: Limits) {
    this.#tokens = tokens;
    this.#faults = faults;
    this.#limits = limits;
    const frame = { rule: "start", precedence: 0, caller: undefined, returnTo: undefined } as const;
    this.#place = { state: automaton().rules.get("start")!.start, frame };
    this.#recovery = new Recovery(automaton(), this.#place, tokens, faults, limits);
  }

  /** Rules that call others wait on a stack of our own: nesting takes no more than memory. */
  run(): Node {
    const waiting: Parsing[] = [];
    let parsing = this.#rule("start", 0, undefined);
    let result: Node | undefined;
    while (true) {
      const step = result === undefined ? parsing.next() : parsing.next(result);
      if (step.done) {
        result = step.value;
        const caller = waiting.pop();
        if (caller === undefined) return result;
        parsing = caller;
      } else {
        waiting.push(parsing);
        const { rule, precedence, returnTo } = step.value;
        parsing = this.#rule(rule, precedence, returnTo);
        result = undefined;
      }
    }
  }

  *#rule(rule: RuleName, precedence: number, returnTo: State | undefined): Parsing {
    const depth = (this.#depths.get(rule) ?? 0) + 1;
    if (depth > this.#limits.depthMax) {
      this.#faults.giveUp(`expression recursion limit exceeded: ${this.#limits.depthMax}`);
    }
    this.#depths.set(rule, depth);
    const outer = { ...this.#place };
    const caller = returnTo === undefined ? undefined : outer.frame;
    this.#place.frame = { rule, precedence, caller, returnTo };
    const build = { node: this.#node(rule) };
    try {
      yield* this.#body(rule, build);
    } catch (error) {
      if (!(error instanceof Unexpected)) throw error;
      this.#recovery.leaveRule(error);
    }
    Object.assign(this.#place, outer);
    this.#depths.set(rule, depth - 1);
    return build.node;
  }

  *#body(rule: RuleName, build: { node: Node }): Parsing<void> {
    const { alternatives } = GRAMMAR[rule];
    const { choice, loop } = automaton().rules.get(rule)!;
    let way = 0;
    if (choice !== undefined) {
      this.#sync(choice.state);
      way = this.#decide(choice, undefined);
    }
    yield* this.#alternative(alternatives[way]!, build);
    if (loop === undefined) return;
    for (let at = loop.entry; ; at = loop.back) {
      this.#sync(at);
      if (!this.#startsTurn(rule)) return;
      this.#sync(loop.choice.state);
      const turn = GRAMMAR[rule].turns![this.#decide(loop.choice, undefined)]!;
      const operand = build.node;
      build.node = { ...this.#node(rule), start: operand.start, parts: { operand: [operand] } };
      yield* this.#alternative(turn, build);
    }
  }

  /** Another turn of a left-recursive rule, if its operator binds tightly enough. */
  #startsTurn(rule: RuleName): boolean {
    const { kind } = this.#tokens.current;
    return GRAMMAR[rule].turns!.some(({ items: [first], precedence }) => {
      const fits = first?.type === "token" && first.kinds.has(kind);
      return fits && precedence! >= this.#place.frame.precedence;
    });
  }

  *#alternative({ form, items }: Alternative, build: { node: Node }): Parsing<void> {
    if (form !== undefined) build.node = { ...build.node, form };
    yield* this.#items(items, build.node);
  }

  *#items(items: Sequence, node: Node): Parsing<void> {
    for (const item of items) {
      const { state, decision, loopBack } = automaton().places.get(item)!;
      switch (item.type) {
        case "token":
          this.#place.state = state;
          file(node, item.label, this.#match(item.kinds));
          break;
        case "rule": {
          this.#place.state = state;
          const { rule, precedence } = item;
          file(node, item.label, yield { rule, precedence, returnTo: state.edges[0]!.to });
          break;
        }
        case "optional":
          this.#sync(state);
          if (this.#decide(decision!, LEAVE) === 0) yield* this.#items(item.body, node);
          break;
        case "star":
          this.#sync(state);
          while (this.#decide(decision!, LEAVE) === 0) {
            yield* this.#items(item.body, node);
            this.#sync(loopBack!);
          }
          break;
        case "plus":
          this.#sync(state);
          do {
            yield* this.#items(item.body, node);
            this.#sync(loopBack!);
          } while (this.#decide(decision!, LEAVE) === 0);
      }
    }
  }

  /** `otherwise` is taken where one token decides but none of the expected ones is there. */
  #decide(decision: Decision, otherwise: number | undefined): number {
    if (decision.simple) {
      const { kind } = this.#tokens.current;
      const way = decision.looks.findIndex((look) => look.has(kind));
      if (way !== -1) return way;
      if (otherwise !== undefined) return otherwise;
      throw this.#recovery.noWay(this.#tokens.current);
    }
    const prediction = predictions().predict(decision, (n) => this.#tokens.ahead(n));
    if (prediction.type === "way") return prediction.way;
    throw this.#recovery.noWay(prediction.offending);
  }

  #node(rule: RuleName): Node {
    return { rule, form: undefined, start: this.#tokens.current, parts: {} };
  }

  #sync(state: State): void {
    this.#place.state = state;
    this.#recovery.sync();
  }

  #match(kinds: ReadonlySet<number>): Token {
    const token = this.#tokens.current;
    if (!kinds.has(token.kind)) return this.#recovery.replaceToken();
    this.#recovery.end();
    this.#tokens.consume();
    return token;
  }
}

function file(node: Node, label: Label | undefined, part: Node | Token): void {
  if (label === undefined) return;
  const parts = node.parts[label];
  if (parts === undefined) node.parts[label] = [part];
  else parts.push(part);
}
