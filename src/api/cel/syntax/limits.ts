/** How much an expression may ask of its parser. */
export interface Limits {
  /** How deep rules may nest, and expressions. */
  readonly depthMax: number;
  readonly recoveriesMax: number;
  /** Tokens that one recovery may skip. */
  readonly skippedMax: number;
}

export const DEFAULT_LIMITS: Limits = { depthMax: 250, recoveriesMax: 30, skippedMax: 256 };
export const REPORTS_MAX = 100;

/** Ends the parsing. The limit was reported as an error. */
export class LimitReached extends Error {}
