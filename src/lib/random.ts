/**
 * Randomness, handed in, so that a run can be repeated from its seed.
 * `systemRandom` is for production and cannot be guessed; `seededRandom` gives the same numbers for
 * the same seed, on every machine.
 */
import { randomBytes, randomUUID } from "node:crypto";

export interface Random {
  /** A number in [0, 1). */
  next(): number;
  /** An integer in [0, below). */
  integer(below: number): number;
  /** An RFC 9562 version 4 UUID. */
  uuid(): string;
}

export const systemRandom: Random = createSystemRandom();

/** A 32-bit generator with a full period over its counter (splitmix32). Not for secrets. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const bits = (): number => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = state ^ (state >>> 16);
    mixed = Math.imul(mixed, 0x21f0aaad);
    mixed ^= mixed >>> 15;
    mixed = Math.imul(mixed, 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  };
  const next = (): number => bits() / 2 ** 32;
  return {
    next,
    integer: (below) => Math.floor(next() * below),
    uuid: () => uuidFrom(Array.from({ length: 16 }, () => bits() & 0xff)),
  };
}

/** Numbers of 48 random bits, from a pool that is refilled with one larger read. */
function createSystemRandom(): Random {
  const BYTES = 6;
  let pool = Buffer.alloc(0);
  let used = 0;
  const next = (): number => {
    if (used + BYTES > pool.length) {
      pool = randomBytes(BYTES * 256);
      used = 0;
    }
    const value = pool.readUIntBE(used, BYTES);
    used += BYTES;
    return value / 2 ** (8 * BYTES);
  };
  return { next, integer: (below) => Math.floor(next() * below), uuid: () => randomUUID() };
}

function uuidFrom(bytes: number[]): string {
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
