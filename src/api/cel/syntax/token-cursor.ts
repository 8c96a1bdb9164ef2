/** A text's tokens one after the other, without those that are hidden; knows how far it has looked. */
import { END, HIDDEN, type Token } from "./tokens.ts";

export class TokenCursor {
  readonly #all: readonly Token[];
  readonly #tokens: readonly Token[];
  #at = 0;
  #furthest = 0;

  constructor(tokens: readonly Token[]) {
    this.#all = tokens;
    this.#tokens = tokens.filter(({ kind }) => !HIDDEN.has(kind));
  }

  get index(): number {
    return this.#at;
  }

  get current(): Token {
    return this.#tokens[this.#at]!;
  }

  /** Undefined at the start. */
  get previous(): Token | undefined {
    return this.#tokens[this.#at - 1];
  }

  /** The furthest token that was looked at. */
  get furthest(): Token {
    return this.#tokens[this.#furthest]!;
  }

  ahead(n: number): Token {
    const index = Math.min(this.#at + n, this.#tokens.length - 1);
    if (index > this.#furthest) this.#furthest = index;
    return this.#tokens[index]!;
  }

  /** The end stays where it is. */
  consume(): void {
    if (this.current.kind === END) return;
    this.#at++;
    if (this.#at > this.#furthest) this.#furthest = this.#at;
  }

  /** What is written from the current token to that one, hidden tokens included. */
  textUpTo(last: Token): string {
    const passed = this.#all.slice(this.current.index, last.index + 1);
    return passed
      .filter(({ kind }) => kind !== END)
      .map(({ text }) => text)
      .join("");
  }
}
