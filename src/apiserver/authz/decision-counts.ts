/** Counts the decisions of each authorizer. */
import type { AccessAttributes, Authorizer, Decision } from "./authorizer.ts";

export interface DecisionCount {
  /** Of the authorizer: `RBAC`. */
  readonly type: string;
  readonly name: string;
  readonly decision: "allowed" | "denied";
  count: number;
}

export class DecisionCounts {
  readonly #counts = new Map<string, DecisionCount>();

  all(): readonly DecisionCount[] {
    return [...this.#counts.values()];
  }

  /** The same authorizer, counted. Several of one name are counted together. */
  of(authorizer: Authorizer, type: string, name: string): Authorizer {
    const allowed = this.#countOf(type, name, "allowed");
    const denied = this.#countOf(type, name, "denied");
    const count = (answer: Decision): Decision => {
      if (answer.decision === "allow") allowed.count += 1;
      else if (answer.decision === "deny") denied.count += 1;
      return answer;
    };
    return {
      ...authorizer,
      authorize(attributes: AccessAttributes) {
        const answer = authorizer.authorize(attributes);
        return answer instanceof Promise ? answer.then(count) : count(answer);
      },
    };
  }

  #countOf(type: string, name: string, decision: DecisionCount["decision"]): DecisionCount {
    const id = `${type} ${name} ${decision}`;
    const known = this.#counts.get(id) ?? { type, name, decision, count: 0 };
    this.#counts.set(id, known);
    return known;
  }
}
