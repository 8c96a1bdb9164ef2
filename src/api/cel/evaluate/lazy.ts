/** Operators that do not need all of their operands. */
import { CelError, Optional, type Value } from "../values/value.ts";
import type { Frame, Step } from "./frame.ts";

/** One side that decides makes up for a fault of the other. */
export function and(left: Step, right: Step): Step {
  return (frame) => decide(left, right, frame, false);
}

export function or(left: Step, right: Step): Step {
  return (frame) => decide(left, right, frame, true);
}

function decide(left: Step, right: Step, frame: Frame, deciding: boolean): boolean {
  let fault: CelError | undefined;
  try {
    if (boolOf(left(frame)) === deciding) return deciding;
  } catch (error) {
    if (!(error instanceof CelError)) throw error;
    fault = error;
  }
  const value = right(frame);
  if (value === deciding) return deciding;
  if (fault !== undefined) throw fault;
  return boolOf(value);
}

function boolOf(value: Value): boolean {
  if (typeof value !== "boolean") throw new CelError("no such overload");
  return value;
}

export function conditional(condition: Step, then: Step, otherwise: Step): Step {
  return (frame) => (boolOf(condition(frame)) ? then(frame) : otherwise(frame));
}

/** True also for a fault, so that a loop goes on. */
export function notStrictlyFalse(operand: Step): Step {
  return (frame) => {
    try {
      return operand(frame) !== false;
    } catch (error) {
      if (error instanceof CelError) return true;
      throw error;
    }
  };
}

/** `optional.or(other)` and `optional.orValue(other)`. */
export function orValue(target: Step, other: Step, name: "or" | "orValue"): Step {
  return (frame) => {
    const optional = target(frame);
    if (!(optional instanceof Optional)) throw new CelError("no such overload");
    if (optional.value === undefined) return other(frame);
    return name === "or" ? optional : optional.value;
  };
}
