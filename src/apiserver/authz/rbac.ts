/** Role-based access control: allows what some binding gives, and has no opinion otherwise. */
import { aggregateText } from "../config/aggregate-text.ts";
import type { Authorizer } from "./authorizer.ts";
import type { RbacRules } from "./rbac-rules.ts";

export function createRbacAuthorizer(rules: RbacRules): Authorizer {
  return {
    name: "RBAC",
    authorize(attributes) {
      const access = rules.access(attributes);
      if (access.allowed) return { decision: "allow", reason: access.reason };
      const reason = aggregateText(access.faults);
      return { decision: "noOpinion", reason: reason === "" ? "" : `RBAC: ${reason}` };
    },
    rulesFor(user, namespace) {
      const { grants, faults } = rules.holdings(user, namespace);
      return { rules: grants.map(({ rule }) => rule), incomplete: false, faults };
    },
  };
}
