/**
 * Expressions of admission policies and match conditions, compiled to run.
 *
 * Promises:
 * 1. A run has a budget for all its expressions together; each single expression may cost 1,000,000.
 * 2. Variables are evaluated when they are first read, once per run, and their cost counts.
 * 3. Faults have the words of the real server.
 */
import { compile } from "#api/cel/environment.ts";
import type { Activation } from "#api/cel/evaluate/frame.ts";
import { createProgram, type Program } from "#api/cel/evaluate/program.ts";
import { objectType } from "#api/cel/types/type.ts";
import { CelError, CelObject, type Value } from "#api/cel/values/value.ts";
import type { AdmissionUse } from "#api/expressions.ts";
import { admissionEnvironment } from "./admission.ts";
import { kubernetesCallCosts } from "./run-costs.ts";

const EXPRESSION_COST_MAX = 1_000_000;
/** For all expressions of one policy on one request. */
export const POLICY_COST_MAX = 10_000_000;
export const MATCH_CONDITIONS_COST_MAX = 2_500_000;

export interface AdmissionProgram {
  readonly text: string;
  /** Undefined for an expression that does not compile, which only other versions accepted. */
  readonly program: Program | undefined;
  readonly error: string;
}

export interface NamedProgram extends AdmissionProgram {
  readonly name: string;
}

export function admissionProgram(text: string, use: AdmissionUse): AdmissionProgram {
  const environment = admissionEnvironment(use);
  const compiled = compile(environment, text);
  if (!compiled.ok) return { text, program: undefined, error: compiled.error };
  const options = { costMax: EXPRESSION_COST_MAX, callCosts: kubernetesCallCosts };
  return { text, program: createProgram(environment, compiled.value, options), error: "" };
}

/** Each variable sees those before it. */
export function variablePrograms(
  variables: AdmissionUse["variables"],
  hasParams: boolean,
): NamedProgram[] {
  return variables.map(({ name, expression }, i) => {
    const before = variables.slice(0, i);
    const use = { hasParams, hasAuthorizer: true, stored: true, variables: before };
    return { name, ...admissionProgram(expression, { ...use, role: "variable" }) };
  });
}

export type AdmissionOutcome =
  | { readonly ok: true; readonly value: Value }
  /** `stops`: the budget is spent and nothing more is evaluated. */
  | { readonly ok: false; readonly error: string; readonly stops: boolean };

const OUT_OF_BUDGET =
  "validation failed due to running out of cost budget, no further validation rules will be run";

/** Evaluates expressions of one policy or webhook on one request. */
export class AdmissionRun {
  readonly #activation: Activation;
  readonly #variables: Variables;
  #budget: number;

  constructor(inputs: Activation, variables: readonly NamedProgram[], budget: number) {
    const lazy = new Variables(variables);
    this.#activation = {
      find: (name) => (name === "variables" ? lazy : inputs.find(name)),
    };
    lazy.activation = this.#activation;
    this.#variables = lazy;
    this.#budget = budget;
  }

  evaluate({ text, program, error }: AdmissionProgram): AdmissionOutcome {
    if (program === undefined) {
      return { ok: false, error: `compilation error: ${error}`, stops: false };
    }
    const result = program.evaluate(this.#activation);
    this.#budget -= result.cost + this.#variables.takeCost();
    if (this.#budget < 0) return { ok: false, error: OUT_OF_BUDGET, stops: true };
    if (result.ok) return result;
    const fault = `expression '${text}' resulted in error: ${result.error}`;
    return { ok: false, error: fault, stops: false };
  }
}

type Known = { readonly value: Value } | { readonly fault: string };

/** `variables`: reading a field evaluates that variable. */
class Variables extends CelObject {
  readonly type = objectType("kubernetes.variables");
  activation: Activation = { find: () => undefined };
  readonly #programs: readonly NamedProgram[];
  readonly #known = new Map<string, Known>();
  #cost = 0;

  constructor(programs: readonly NamedProgram[]) {
    super();
    this.#programs = programs;
  }

  override field(name: string): Value | undefined {
    let known = this.#known.get(name);
    if (known === undefined) {
      const program = this.#programs.find((one) => one.name === name);
      if (program === undefined) return undefined;
      known = this.#evaluate(program);
      this.#known.set(name, known);
    }
    if ("fault" in known) throw new CelError(known.fault);
    return known.value;
  }

  equals(other: CelObject): boolean {
    return other === this;
  }

  /** What variables have cost since this was last asked. */
  takeCost(): number {
    const cost = this.#cost;
    this.#cost = 0;
    return cost;
  }

  #evaluate({ name, program, error }: NamedProgram): Known {
    if (program === undefined) {
      return { fault: `composited variable "${name}" fails to compile: ${error}` };
    }
    const result = program.evaluate(this.activation);
    this.#cost += result.cost;
    if (result.ok) return { value: result.value };
    return { fault: `composited variable "${name}" fails to evaluate: ${result.error}` };
  }
}
