/**
 * Randomness, handed in, so that a run can be repeated from its seed.
 * `systemRandom` is for production; `seededRandom` gives the same numbers for the same seed.
 */
export interface Random {
  /** A number in [0, 1). */
  next(): number;
  /** An integer in [0, below). */
  integer(below: number): number;
  /** An RFC 9562 version 4 UUID. */
  uuid(): string;
}
