/**
 * Compiles a checked expression to closures. An evaluation gives a value or a fault, never throws,
 * and ends when it has cost more than it may.
 */
import type { Expr } from "../ast.ts";
import type { Checked } from "../checker.ts";
import type { Environment } from "../environment.ts";
import { CelError, type Value } from "../values/value.ts";
import type { CallCosts } from "./call-cost.ts";
import { type Activation, CostExceeded, Frame, type Step } from "./frame.ts";
import { StepCompiler } from "./steps.ts";

export interface ProgramOptions {
  readonly costMax?: number;
  readonly callCosts?: CallCosts;
}

export interface Program {
  evaluate(activation: Activation): Evaluation;
}

export type Evaluation = { readonly cost: number } & (
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly error: string; readonly costExceeded: boolean }
);

export function createProgram(
  environment: Environment,
  { expr, checked }: { readonly expr: Expr; readonly checked: Checked },
  { costMax = Infinity, callCosts }: ProgramOptions = {},
): Program {
  const compiler = new StepCompiler(environment, checked, callCosts);
  const step = compiler.compile(expr);
  return {
    evaluate: (activation) => run(step, new Frame(activation, compiler.localCount, costMax)),
  };
}

function run(step: Step, frame: Frame): Evaluation {
  try {
    return { ok: true, value: step(frame), cost: frame.cost };
  } catch (error) {
    const costExceeded = error instanceof CostExceeded;
    if (!costExceeded && !(error instanceof CelError)) throw error;
    return { ok: false, error: error.message, costExceeded, cost: frame.cost };
  }
}
