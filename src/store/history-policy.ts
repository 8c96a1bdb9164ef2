/**
 * How much history a store keeps, as users write it: an age (`5m`, `24h`, `7d`), a size (`10GiB`), or
 * both with a comma; what is reached first counts. An age alone is limited to AGE_BYTES_MAX.
 */
import type { HistoryPolicy } from "./local/auto-compaction.ts";

export type { HistoryPolicy };

const AGE_BYTES_MAX = 10 * 2 ** 30;
const AGE_MS_MIN = 60_000;
const BYTES_MIN = 2 ** 20;

const MS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 24 * 3_600_000,
};
const BYTES: Readonly<Record<string, number>> = {
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
};

export type HistoryResult =
  | { readonly ok: true; readonly policy: HistoryPolicy }
  | { readonly ok: false; readonly message: string };

export function parseHistory(text: string): HistoryResult {
  let ageMs: number | undefined;
  let bytes: number | undefined;
  for (const part of text.split(",")) {
    const age = /^((?:\d+[smhd])+)$/.exec(part);
    const size = /^(\d+)([KMGT]i)B?$/.exec(part);
    if (age !== null && ageMs === undefined) ageMs = ageOf(part);
    else if (size !== null && bytes === undefined) bytes = Number(size[1]) * BYTES[size[2]!]!;
    else return wrong(text, "want an age, a size or both, as 5m, 24h, 10GiB or 24h,10GiB");
  }
  if (ageMs !== undefined && ageMs < AGE_MS_MIN) return wrong(text, "the shortest is 1m");
  if (bytes !== undefined && bytes < BYTES_MIN) return wrong(text, "the least is 1MiB");
  const policy: HistoryPolicy = {
    ageMs: ageMs ?? Number.POSITIVE_INFINITY,
    bytesMin: bytes ?? AGE_BYTES_MAX,
    liveShare: 0,
  };
  return { ok: true, policy };
}

function ageOf(text: string): number {
  let ageMs = 0;
  for (const [, count, unit] of text.matchAll(/(\d+)([smhd])/g))
    ageMs += Number(count) * MS[unit!]!;
  return ageMs;
}

function wrong(text: string, why: string): HistoryResult {
  return { ok: false, message: `invalid history ${JSON.stringify(text)}: ${why}` };
}
