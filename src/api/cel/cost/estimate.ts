/** A range that a size or a cost lies in. Past 64 bits nothing grows any more. */
export interface Estimate {
  readonly min: number;
  readonly max: number;
}

export const COST_MAX = 2 ** 64;
export const STRING_FACTOR = 0.1;
export const REGEX_FACTOR = 0.25;
export const LIST_BASE = 10;
export const MAP_BASE = 30;
export const STRUCT_BASE = 40;

export const NOTHING: Estimate = { min: 0, max: 0 };
export const ONE: Estimate = { min: 1, max: 1 };
export const UNKNOWN: Estimate = { min: 0, max: COST_MAX };

export function fixed(value: number): Estimate {
  return { min: value, max: value };
}

export function plus(a: Estimate, b: Estimate): Estimate {
  return { min: Math.min(a.min + b.min, COST_MAX), max: Math.min(a.max + b.max, COST_MAX) };
}

export function times(a: Estimate, b: Estimate): Estimate {
  return { min: Math.min(a.min * b.min, COST_MAX), max: Math.min(a.max * b.max, COST_MAX) };
}

export function scaled(estimate: Estimate, factor: number): Estimate {
  const scale = (value: number) => Math.min(Math.ceil(value * factor), COST_MAX);
  return { min: scale(estimate.min), max: scale(estimate.max) };
}

export function union(a: Estimate, b: Estimate): Estimate {
  return { min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) };
}
