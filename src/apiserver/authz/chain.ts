/** The authorizers of `--authorization-mode`, asked in order. Members of system:masters may do anything. */
import type { AccessAttributes, Authorizer, Decision } from "./authorizer.ts";

export const SYSTEM_MASTERS = "system:masters";

export const alwaysAllow: Authorizer = {
  name: "AlwaysAllow",
  authorize: () => ({ decision: "allow", reason: "" }),
  rulesFor: () => ({
    rules: [
      { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
      { verbs: ["*"], nonResourceURLs: ["*"] },
    ],
    incomplete: false,
    faults: [],
  }),
};

export const alwaysDeny: Authorizer = {
  name: "AlwaysDeny",
  authorize: () => ({ decision: "noOpinion", reason: "Everything is forbidden." }),
};

const privilegedGroup: Authorizer = {
  name: "system:masters",
  authorize: ({ user }) =>
    user.groups.includes(SYSTEM_MASTERS)
      ? { decision: "allow", reason: "" }
      : { decision: "noOpinion", reason: "" },
};

/** The first that decides wins; the reasons of those without an opinion are kept. */
export function chainAuthorizers(authorizers: readonly Authorizer[]): Required<Authorizer> {
  const all = [privilegedGroup, ...authorizers];
  const ask = (
    attributes: AccessAttributes,
    from: number,
    undecided: Undecided,
  ): Decision | Promise<Decision> => {
    let so = undecided;
    for (let at = from; at < all.length; at++) {
      const decision = all[at]!.authorize(attributes);
      if (decision instanceof Promise) {
        return decision.then((answer) =>
          answer.decision === "noOpinion" ? ask(attributes, at + 1, and(so, answer)) : answer,
        );
      }
      if (decision.decision !== "noOpinion") return decision;
      so = and(so, decision);
    }
    return so;
  };
  return {
    name: "union",
    authorize: (attributes) => ask(attributes, 0, UNDECIDED),
    rulesFor(user, namespace) {
      const answers = all.flatMap((one) => one.rulesFor?.(user, namespace) ?? []);
      return {
        rules: answers.flatMap(({ rules }) => rules),
        incomplete: answers.some(({ incomplete }) => incomplete),
        faults: answers.flatMap(({ faults }) => faults),
      };
    },
  };
}

type Undecided = Extract<Decision, { decision: "noOpinion" }>;

const UNDECIDED: Undecided = { decision: "noOpinion", reason: "" };

/** Reasons and faults, line by line. */
function and(before: Undecided, { reason, fault }: Undecided): Undecided {
  if (reason === "" && fault === undefined) return before;
  const faults = [before.fault, fault].filter((one) => one !== undefined);
  return {
    decision: "noOpinion",
    reason: [before.reason, reason].filter((one) => one !== "").join("\n"),
    ...(faults.length === 0 ? {} : { fault: faults.join("\n") }),
  };
}
