/** Random choices of a seeded scenario. */
import { seededRandom } from "#lib/random.ts";

export interface Dice {
  /** An integer in [0, below). */
  integer(below: number): number;
  chance(probability: number): boolean;
  pick<T>(list: readonly T[]): T;
  /** What `make` gives, with this probability, else nothing. */
  maybe<T extends object>(probability: number, make: () => T): T | Record<string, never>;
}

export function diceOf(seed: number): Dice {
  const random = seededRandom(seed);
  const chance = (probability: number): boolean => random.next() < probability;
  return {
    integer: (below) => random.integer(below),
    chance,
    pick: (list) => list[random.integer(list.length)]!,
    maybe: (probability, make) => (chance(probability) ? make() : {}),
  };
}
