/**
 * Tokens to a tree of the grammar's rules, with the error recovery of the generator that cel-go's
 * parser comes from: a token too many is dropped, a missing one made up, otherwise tokens are
 * skipped until one that some rule at hand can go on with. Never gives up before its limits.
 */
import {
  type Automaton,
  buildAutomaton,
  type Decision,
  type NextTokens,
  type State,
} from "./automaton.ts";
import type { Faults } from "./faults.ts";
import {
  type Alternative,
  type Form,
  GRAMMAR,
  type Label,
  type RuleName,
  type Sequence,
} from "./grammar.ts";
import { Predictions } from "./predict.ts";
import { locationOf, NO_LOCATION, type Source } from "./source.ts";
import { END, HIDDEN, nameOf, type Token } from "./tokens.ts";

export interface Node {
  readonly rule: RuleName;
  /** Which of the rule's forms; unset if an error came before that was known. */
  readonly form: Form | undefined;
  /** The first token. */
  readonly start: Token;
  readonly parts: Partial<Record<Label, (Node | Token)[]>>;
}

export interface Limits {
  /** How deep rules may nest, and expressions. */
  readonly depthMax: number;
  readonly recoveriesMax: number;
  /** Tokens that one recovery may skip. */
  readonly skippedMax: number;
}

export const DEFAULT_LIMITS: Limits = { depthMax: 250, recoveriesMax: 30, skippedMax: 256 };
export const REPORTS_MAX = 100;

/** The way past an optional part or out of a loop. */
const LEAVE = 1;

export interface Recognised {
  /** Undefined if a limit ended it; the fault is told. */
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
  const recogniser = new Recogniser(source, tokens, faults, limits);
  try {
    return { tree: recogniser.run(), furthest: recogniser.furthest };
  } catch (error) {
    if (!(error instanceof LimitReached)) throw error;
    return { tree: undefined, furthest: recogniser.furthest };
  }
}

class LimitReached extends Error {}

/** Asks for other rules to be parsed, and gets their nodes. */
type Parsing<Result = Node> = Generator<RuleCall, Result, Node>;

interface RuleCall {
  readonly rule: RuleName;
  readonly precedence: number;
  readonly returnTo: State;
}

/** Ends the rule at hand, which then looks for a place to go on. */
class Unexpected extends Error {
  readonly detail: string;
  readonly token: Token;

  constructor(detail: string, token: Token) {
    super();
    this.detail = detail;
    this.token = token;
  }
}

/** A rule being parsed. */
interface Frame {
  readonly rule: RuleName;
  readonly precedence: number;
  readonly caller: Frame | undefined;
  /** The state of the caller to go on with. */
  readonly returnTo: State | undefined;
}

const AUTOMATON: Automaton = buildAutomaton();
const PREDICTIONS = new Predictions(AUTOMATON);

class Recogniser {
  readonly #automaton = AUTOMATON;
  readonly #source: Source;
  readonly #all: readonly Token[];
  readonly #tokens: readonly Token[];
  readonly #faults: Faults;
  readonly #limits: Limits;
  readonly #depths = new Map<RuleName, number>();
  #at = 0;
  #furthest = 0;
  #state: State;
  #frame: Frame = { rule: "start", precedence: 0, caller: undefined, returnTo: undefined };
  #recovering = false;
  #failedAt = -1;
  readonly #failedIn = new Set<State>();
  #recoveries = 0;
  #reports = 0;

  constructor(source: Source, tokens: readonly Token[], faults: Faults, limits: Limits) {
    this.#limits = limits;
    this.#source = source;
    this.#all = tokens;
    this.#tokens = tokens.filter(({ kind }) => !HIDDEN.has(kind));
    this.#faults = faults;
    this.#state = this.#automaton.rules.get("start")!.start;
  }

  get furthest(): Token {
    return this.#tokens[this.#furthest]!;
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
      this.#faults.add(
        NO_LOCATION,
        `expression recursion limit exceeded: ${this.#limits.depthMax}`,
      );
      throw new LimitReached();
    }
    this.#depths.set(rule, depth);
    const outer = { frame: this.#frame, state: this.#state };
    const caller = returnTo === undefined ? undefined : this.#frame;
    this.#frame = { rule, precedence, caller, returnTo };
    const build = { node: this.#node(rule) };
    try {
      yield* this.#body(rule, build);
    } catch (error) {
      if (!(error instanceof Unexpected)) throw error;
      this.#report(error.detail, error.token);
      this.#recover();
    }
    this.#frame = outer.frame;
    this.#state = outer.state;
    this.#depths.set(rule, depth - 1);
    return build.node;
  }

  *#body(rule: RuleName, build: { node: Node }): Parsing<void> {
    const { alternatives } = GRAMMAR[rule];
    const { choice, loop } = this.#automaton.rules.get(rule)!;
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
    const { kind } = this.#current();
    return GRAMMAR[rule].turns!.some(({ items: [first], precedence }) => {
      const fits = first?.type === "token" && first.kinds.has(kind);
      return fits && precedence! >= this.#frame.precedence;
    });
  }

  *#alternative({ form, items }: Alternative, build: { node: Node }): Parsing<void> {
    if (form !== undefined) build.node = { ...build.node, form };
    yield* this.#items(items, build.node);
  }

  *#items(items: Sequence, node: Node): Parsing<void> {
    for (const item of items) {
      const { state, decision, loopBack } = this.#automaton.places.get(item)!;
      switch (item.type) {
        case "token":
          this.#state = state;
          file(node, item.label, this.#match(item.kinds));
          break;
        case "rule": {
          this.#state = state;
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

  /** `otherwise` is taken where one token always tells but none of them is there. */
  #decide(decision: Decision, otherwise: number | undefined): number {
    if (decision.simple) {
      const { kind } = this.#current();
      const way = decision.looks.findIndex((look) => look.has(kind));
      if (way !== -1) return way;
      if (otherwise !== undefined) return otherwise;
      throw this.#noWay(this.#current());
    }
    const prediction = PREDICTIONS.predict(decision, (n) => this.#ahead(n));
    if (prediction.type === "way") return prediction.way;
    throw this.#noWay(prediction.offending);
  }

  #node(rule: RuleName): Node {
    return { rule, form: undefined, start: this.#current(), parts: {} };
  }

  #current(): Token {
    return this.#tokens[this.#at]!;
  }

  #ahead(n: number): Token {
    const index = Math.min(this.#at + n, this.#tokens.length - 1);
    if (index > this.#furthest) this.#furthest = index;
    return this.#tokens[index]!;
  }

  #consume(): void {
    if (this.#current().kind === END) return;
    this.#at++;
    if (this.#at > this.#furthest) this.#furthest = this.#at;
  }

  #match(kinds: ReadonlySet<number>): Token {
    const token = this.#current();
    if (!kinds.has(token.kind)) return this.#recoverInline();
    this.#endRecovery();
    this.#consume();
    return token;
  }

  // Error recovery, from here on.

  /** Before a decision: drops a token too many, or gives up the rule. */
  #sync(state: State): void {
    this.#state = state;
    if (this.#recovering) return;
    const { kinds, mayEnd } = this.#automaton.next(state);
    if (mayEnd || kinds.has(this.#current().kind)) return;
    if (state.kind === "loopBack") {
      this.#reportUnwanted();
      this.#skipUntil(new Set([...this.#expected(), ...this.#recoverySet()]), undefined);
    } else if (this.#dropToken(undefined) === undefined) {
      throw this.#mismatch();
    }
  }

  #recoverInline(): Token {
    const skipped = this.#countRecovery();
    const dropped = this.#dropToken(skipped);
    if (dropped !== undefined) {
      this.#skip(skipped);
      return dropped;
    }
    const next = this.#state.edges[0]!.to;
    if (!this.#inContext(this.#automaton.next(next)).has(this.#current().kind)) {
      throw this.#mismatch();
    }
    const expected = Math.min(...this.#expected());
    if (!this.#recovering) {
      this.#recovering = true;
      const message = `missing ${this.#describeExpected()} at ${display(this.#current().text)}`;
      this.#tell(message, this.#current());
    }
    const atEnd = this.#current().kind === END && this.#at > 0;
    const near = atEnd ? this.#tokens[this.#at - 1]! : this.#current();
    const text = `<missing ${expected === END ? "EOF" : missingName(expected)}>`;
    return { kind: expected, text, offset: near.offset, index: -1 };
  }

  /** If the token after this one would do, this one is too many. */
  #dropToken(skipped: { count: number } | undefined): Token | undefined {
    if (!this.#expected().has(this.#ahead(1).kind)) return undefined;
    this.#reportUnwanted();
    this.#skip(skipped);
    this.#endRecovery();
    return this.#current();
  }

  #reportUnwanted(): void {
    if (this.#recovering) return;
    this.#recovering = true;
    const token = this.#current();
    this.#tell(
      `extraneous input ${display(token.text)} expecting ${this.#describeExpected()}`,
      token,
    );
  }

  #recover(): void {
    const skipped = this.#countRecovery();
    if (this.#failedAt === this.#at && this.#failedIn.has(this.#state)) this.#skip(skipped);
    this.#failedAt = this.#at;
    this.#failedIn.add(this.#state);
    this.#skipUntil(this.#recoverySet(), skipped);
  }

  #countRecovery(): { count: number } {
    if (this.#recoveries === this.#limits.recoveriesMax) {
      this.#recoveries++;
      const message = `error recovery attempt limit exceeded: ${this.#limits.recoveriesMax}`;
      this.#tell(message, this.#current());
      throw new LimitReached();
    }
    this.#recoveries++;
    return { count: 0 };
  }

  #skip(skipped: { count: number } | undefined): void {
    if (skipped !== undefined && skipped.count >= this.#limits.skippedMax) {
      const message = `error recovery token lookahead limit exceeded: ${this.#limits.skippedMax}`;
      this.#faults.add(NO_LOCATION, message);
      throw new LimitReached();
    }
    if (skipped !== undefined) skipped.count++;
    this.#consume();
  }

  #skipUntil(kinds: ReadonlySet<number>, skipped: { count: number } | undefined): void {
    while (this.#current().kind !== END && !kinds.has(this.#current().kind)) this.#skip(skipped);
  }

  #endRecovery(): void {
    this.#recovering = false;
    this.#failedIn.clear();
    this.#failedAt = -1;
  }

  /** What any of the rules at hand could go on with. */
  #recoverySet(): ReadonlySet<number> {
    const kinds = new Set<number>();
    for (let frame: Frame | undefined = this.#frame; frame; frame = frame.caller) {
      if (frame.returnTo === undefined) continue;
      for (const kind of this.#automaton.next(frame.returnTo).kinds) kinds.add(kind);
    }
    return kinds;
  }

  #expected(): ReadonlySet<number> {
    return this.#inContext(this.#automaton.next(this.#state));
  }

  /** Adds what callers go on with where the rule may be over. */
  #inContext(next: NextTokens): ReadonlySet<number> {
    const kinds = new Set(next.kinds);
    let { mayEnd } = next;
    for (let frame: Frame | undefined = this.#frame; mayEnd && frame; frame = frame.caller) {
      if (frame.returnTo === undefined) break;
      const behind = this.#automaton.next(frame.returnTo);
      for (const kind of behind.kinds) kinds.add(kind);
      mayEnd = behind.mayEnd;
    }
    if (mayEnd) kinds.add(END);
    return kinds;
  }

  #describeExpected(): string {
    const names = [...this.#expected()].sort((a, b) => a - b).map(nameOf);
    return names.length === 1 ? names[0]! : `{${names.join(", ")}}`;
  }

  #mismatch(): Unexpected {
    const token = this.#current();
    const expected = this.#describeExpected();
    return new Unexpected(`mismatched input ${display(token.text)} expecting ${expected}`, token);
  }

  #noWay(offending: Token): Unexpected {
    const start = this.#current();
    const passed = this.#all.slice(start.index, offending.index + 1);
    const text = passed.filter(({ kind }) => kind !== END).map((token) => token.text);
    const input = start.kind === END ? "<EOF>" : text.join("");
    return new Unexpected(`no viable alternative at input ${display(input)}`, offending);
  }

  #report(message: string, token: Token): void {
    if (this.#recovering) return;
    this.#recovering = true;
    this.#tell(message, token);
  }

  #tell(message: string, { offset }: Token): void {
    const location = locationOf(this.#source, offset);
    if (this.#reports >= REPORTS_MAX) {
      this.#faults.add(location, `Syntax error: More than ${REPORTS_MAX} syntax errors`);
      throw new LimitReached();
    }
    this.#reports++;
    this.#faults.add(location, `Syntax error: ${readableReservedWord(message)}`);
  }
}

function file(node: Node, label: Label | undefined, part: Node | Token): void {
  if (label === undefined) return;
  const parts = node.parts[label];
  if (parts === undefined) node.parts[label] = [part];
  else parts.push(part);
}

function missingName(kind: number): string {
  const name = nameOf(kind);
  return name.startsWith("'") ? name : "undefined";
}

function display(text: string): string {
  return `'${text.replaceAll("\t", "\\t").replaceAll("\n", "\\n").replaceAll("\r", "\\r")}'`;
}

const RESERVED_WORD = /no viable alternative at input '.(true|false|null)'/g;

/** A literal's name where a field's was expected gets the text that older versions gave. */
function readableReservedWord(message: string): string {
  return message.replaceAll(RESERVED_WORD, "mismatched input '$1' expecting IDENTIFIER");
}
