/**
 * How the recogniser goes on where tokens do not fit, as the generator that cel-go's parser comes
 * from does it: a token too many is dropped, a missing one made up, otherwise tokens are skipped
 * until one with which an active rule can continue. Between an error and the next token that fits
 * nothing more is reported.
 */
import type { Automaton, NextTokens, State } from "./automaton.ts";
import type { RuleName } from "./grammar.ts";
import { LimitReached, type Limits } from "./limits.ts";
import { type SyntaxFaults, showKinds, showText } from "./syntax-faults.ts";
import type { TokenCursor } from "./token-cursor.ts";
import { END, nameOf, type Token } from "./tokens.ts";

/** A rule being parsed. */
export interface Frame {
  readonly rule: RuleName;
  readonly precedence: number;
  readonly caller: Frame | undefined;
  /** The state of the caller to go on with. */
  readonly returnTo: State | undefined;
}

/** Where the recogniser is. It moves on; recovery looks at where it has come to. */
export interface Place {
  state: State;
  frame: Frame;
}

/** Ends the current rule, which then looks for a place to continue. */
export class Unexpected extends Error {
  readonly detail: string;
  readonly token: Token;

  constructor(detail: string, token: Token) {
    super();
    this.detail = detail;
    this.token = token;
  }
}

export class Recovery {
  readonly #automaton: Automaton;
  readonly #place: Readonly<Place>;
  readonly #tokens: TokenCursor;
  readonly #faults: SyntaxFaults;
  readonly #limits: Limits;
  #recovering = false;
  #failedAt = -1;
  readonly #failedIn = new Set<State>();
  #count = 0;

  constructor(
    automaton: Automaton,
    place: Readonly<Place>,
    tokens: TokenCursor,
    faults: SyntaxFaults,
    limits: Limits,
  ) {
    this.#automaton = automaton;
    this.#place = place;
    this.#tokens = tokens;
    this.#faults = faults;
    this.#limits = limits;
  }

  /** Before a decision: drops a token too many, or gives up the rule. */
  sync(): void {
    if (this.#recovering) return;
    const { state } = this.#place;
    const { kinds, mayEnd } = this.#automaton.next(state);
    if (mayEnd || kinds.has(this.#tokens.current.kind)) return;
    if (state.kind === "loopBack") {
      this.#reportUnwanted();
      this.#skipUntil(new Set([...this.#expected(), ...this.#recoverySet()]), undefined);
    } else if (this.#dropToken(undefined) === undefined) {
      throw this.#mismatch();
    }
  }

  /** Where a token does not fit: the one that is taken in its place. */
  replaceToken(): Token {
    const skipped = this.#begin();
    const dropped = this.#dropToken(skipped);
    if (dropped !== undefined) {
      this.#skip(skipped);
      return dropped;
    }
    const { current, previous } = this.#tokens;
    const next = this.#place.state.edges[0]!.to;
    if (!this.#inContext(this.#automaton.next(next)).has(current.kind)) throw this.#mismatch();
    const expected = this.#expected();
    this.#report(`missing ${showKinds(expected)} at ${showText(current.text)}`, current);
    const kind = Math.min(...expected);
    const near = current.kind === END ? (previous ?? current) : current;
    const text = `<missing ${kind === END ? "EOF" : missingName(kind)}>`;
    return { kind, text, offset: near.offset, index: -1 };
  }

  /** The current rule is given up: skips to where its callers can continue. */
  leaveRule({ detail, token }: Unexpected): void {
    this.#report(detail, token);
    const skipped = this.#begin();
    const { state } = this.#place;
    if (this.#failedAt === this.#tokens.index && this.#failedIn.has(state)) this.#skip(skipped);
    this.#failedAt = this.#tokens.index;
    this.#failedIn.add(state);
    this.#skipUntil(this.#recoverySet(), skipped);
  }

  /** A token fits again. */
  end(): void {
    this.#recovering = false;
    this.#failedIn.clear();
    this.#failedAt = -1;
  }

  /** No form of the rule goes on as the tokens up to this one do. */
  noWay(offending: Token): Unexpected {
    const atEnd = this.#tokens.current.kind === END;
    const input = atEnd ? "<EOF>" : this.#tokens.textUpTo(offending);
    return new Unexpected(`no viable alternative at input ${showText(input)}`, offending);
  }

  #mismatch(): Unexpected {
    const { current } = this.#tokens;
    const expected = showKinds(this.#expected());
    return new Unexpected(
      `mismatched input ${showText(current.text)} expecting ${expected}`,
      current,
    );
  }

  /** If the token after this one would do, this one is too many. */
  #dropToken(skipped: { count: number } | undefined): Token | undefined {
    if (!this.#expected().has(this.#tokens.ahead(1).kind)) return undefined;
    this.#reportUnwanted();
    this.#skip(skipped);
    this.end();
    return this.#tokens.current;
  }

  #reportUnwanted(): void {
    const { current } = this.#tokens;
    const expected = showKinds(this.#expected());
    this.#report(`extraneous input ${showText(current.text)} expecting ${expected}`, current);
  }

  #report(message: string, token: Token): void {
    if (this.#recovering) return;
    this.#recovering = true;
    this.#faults.report(message, token);
  }

  #begin(): { count: number } {
    const { recoveriesMax } = this.#limits;
    if (this.#count++ === recoveriesMax) {
      const message = `error recovery attempt limit exceeded: ${recoveriesMax}`;
      this.#faults.report(message, this.#tokens.current);
      throw new LimitReached();
    }
    return { count: 0 };
  }

  #skip(skipped: { count: number } | undefined): void {
    const { skippedMax } = this.#limits;
    if (skipped !== undefined && skipped.count++ >= skippedMax) {
      this.#faults.giveUp(`error recovery token lookahead limit exceeded: ${skippedMax}`);
    }
    this.#tokens.consume();
  }

  #skipUntil(kinds: ReadonlySet<number>, skipped: { count: number } | undefined): void {
    const fits = ({ kind }: Token): boolean => kind === END || kinds.has(kind);
    while (!fits(this.#tokens.current)) this.#skip(skipped);
  }

  /** The tokens with which any active rule could continue. */
  #recoverySet(): ReadonlySet<number> {
    const kinds = new Set<number>();
    for (let frame: Frame | undefined = this.#place.frame; frame; frame = frame.caller) {
      if (frame.returnTo === undefined) continue;
      for (const kind of this.#automaton.next(frame.returnTo).kinds) kinds.add(kind);
    }
    return kinds;
  }

  #expected(): ReadonlySet<number> {
    return this.#inContext(this.#automaton.next(this.#place.state));
  }

  /** Adds what callers go on with where the rule may be over. */
  #inContext(next: NextTokens): ReadonlySet<number> {
    const kinds = new Set(next.kinds);
    let { mayEnd } = next;
    for (let frame: Frame | undefined = this.#place.frame; mayEnd && frame; frame = frame.caller) {
      if (frame.returnTo === undefined) break;
      const behind = this.#automaton.next(frame.returnTo);
      for (const kind of behind.kinds) kinds.add(kind);
      mayEnd = behind.mayEnd;
    }
    if (mayEnd) kinds.add(END);
    return kinds;
  }
}

function missingName(kind: number): string {
  const name = nameOf(kind);
  return name.startsWith("'") ? name : "undefined";
}
