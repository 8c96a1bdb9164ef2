/**
 * Answers `authorizer.….check(…)` in expressions with the server's authorizer. Expressions are evaluated
 * without waiting; an authorizer that has to be waited for (a webhook) breaks the evaluation off, and the
 * evaluation is repeated when the answer is there. Answers are kept for the time of one request.
 */
import type {
  AuthorizationAnswer,
  AuthorizationQuestion,
  ExpressionAuthorizer,
} from "#api/expressions/libraries/authorization.ts";
import type { MaybePromise } from "#lib/async/maybe-promise.ts";
import { messageOf } from "#lib/caught.ts";
import type { AccessAttributes, Authorizer, Decision } from "../../authz/authorizer.ts";
import { reviewQuestion } from "../../authz/review-attributes.ts";
import type { User } from "../../request/request.ts";

/** Breaks an evaluation off until the answer is there. */
class AnswerPending extends Error {
  readonly arrived: Promise<void>;

  constructor(arrived: Promise<void>) {
    super("an authorizer has not answered yet");
    this.arrived = arrived;
  }
}

/** `evaluate` may be called several times and must have no effect but its result. */
export function untilAnswered<T>(evaluate: () => T): MaybePromise<T> {
  try {
    return evaluate();
  } catch (error) {
    if (!(error instanceof AnswerPending)) throw error;
    return error.arrived.then(() => untilAnswered(evaluate));
  }
}

export function expressionAuthorizer(authorizer: Authorizer, user: User): ExpressionAuthorizer {
  const known = new Map<string, AuthorizationAnswer>();
  return {
    decide(question) {
      const key = JSON.stringify(question);
      const answer = known.get(key);
      if (answer !== undefined) return answer;
      const decision = authorizer.authorize(attributesOf(question, user));
      if (!(decision instanceof Promise)) {
        const made = answerOf(decision);
        known.set(key, made);
        return made;
      }
      throw new AnswerPending(
        decision.then(
          (made) => void known.set(key, answerOf(made)),
          (error: unknown) => {
            known.set(key, { allowed: false, reason: "", error: messageOf(error) });
          },
        ),
      );
    },
  };
}

function answerOf(decision: Decision): AuthorizationAnswer {
  const fault = decision.decision === "allow" ? undefined : decision.fault;
  return {
    allowed: decision.decision === "allow",
    reason: decision.reason,
    ...(fault === undefined ? {} : { error: fault }),
  };
}

function attributesOf(question: AuthorizationQuestion, requester: User): AccessAttributes {
  const { verb, path, resource, fieldSelector, labelSelector, serviceAccount } = question;
  const user = serviceAccount === undefined ? requester : serviceAccountUser(serviceAccount);
  if (resource === undefined) {
    const nonResourceAttributes = { verb, ...(path === undefined ? {} : { path }) };
    return reviewQuestion({ nonResourceAttributes }, user).attributes;
  }
  const { group = "", subresource = "", namespace = "", name = "" } = question;
  const resourceAttributes = {
    ...{ verb, group, resource, subresource, namespace, name },
    ...(fieldSelector === undefined ? {} : { fieldSelector: { rawSelector: fieldSelector } }),
    ...(labelSelector === undefined ? {} : { labelSelector: { rawSelector: labelSelector } }),
  };
  return reviewQuestion({ resourceAttributes }, user).attributes;
}

function serviceAccountUser({ namespace, name }: { namespace: string; name: string }): User {
  return {
    name: `system:serviceaccount:${namespace}:${name}`,
    groups: [
      "system:serviceaccounts",
      `system:serviceaccounts:${namespace}`,
      "system:authenticated",
    ],
  };
}
