/** Questions to the authorizer: `authorizer.group('apps').resource('deployments').check('create')`. */
import type { Library } from "#api/cel/library.ts";
import { objectType, type Type } from "#api/cel/types/type.ts";
import { CelError, CelObject } from "#api/cel/values/value.ts";
import { nameIsDnsLabel, nameIsDnsSubdomain } from "#api/validation/names.ts";

export const AUTHORIZER_TYPE = objectType("kubernetes.authorization.Authorizer");
export const RESOURCE_CHECK_TYPE = objectType("kubernetes.authorization.ResourceCheck");

/** Authorization checks of expressions, provided by the caller of the evaluation. */
export interface ExpressionAuthorizer {
  /** `serviceAccount` is unset for the user of the request. */
  decide(question: AuthorizationQuestion): AuthorizationAnswer;
}

export interface AuthorizationQuestion {
  readonly verb: string;
  readonly path?: string;
  readonly group?: string;
  readonly resource?: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
  readonly serviceAccount?: { readonly namespace: string; readonly name: string };
}

export interface AuthorizationAnswer {
  readonly allowed: boolean;
  readonly reason: string;
  readonly error?: string;
}

export class AuthorizationValue extends CelObject {
  readonly type: Type;
  readonly authorizer: ExpressionAuthorizer;
  readonly question: Omit<AuthorizationQuestion, "verb">;

  constructor(
    type: Type,
    authorizer: ExpressionAuthorizer,
    question: Omit<AuthorizationQuestion, "verb">,
  ) {
    super();
    this.type = type;
    this.authorizer = authorizer;
    this.question = question;
  }

  equals(other: CelObject): boolean {
    return other === this;
  }
}

class DecisionValue extends CelObject {
  readonly type = objectType("kubernetes.authorization.Decision");
  readonly answer: AuthorizationAnswer;

  constructor(answer: AuthorizationAnswer) {
    super();
    this.answer = answer;
  }

  equals(other: CelObject): boolean {
    return other === this;
  }
}

const A = "kubernetes.authorization.Authorizer";
const PATH = "kubernetes.authorization.PathCheck";
const GROUP = "kubernetes.authorization.GroupCheck";
const RESOURCE = "kubernetes.authorization.ResourceCheck";
const DECISION = "kubernetes.authorization.Decision";

export const authorizationLibrary: Library = {
  functions: {
    [`authorizer_path ${A}.path(string) -> ${PATH}`]: (at: AuthorizationValue, path: string) => {
      if (path.trim() === "") throw new CelError("path must not be empty");
      return narrowed(at, PATH, { path });
    },
    [`authorizer_group ${A}.group(string) -> ${GROUP}`]: (at: AuthorizationValue, group: string) =>
      narrowed(at, GROUP, { group }),
    [`authorizer_serviceaccount ${A}.serviceAccount(string, string) -> ${A}`]: (
      at: AuthorizationValue,
      namespace: string,
      name: string,
    ) => {
      if (nameIsDnsSubdomain(name, false).length > 0) {
        throw new CelError("Invalid service account name");
      }
      if (nameIsDnsLabel(namespace, false).length > 0) {
        throw new CelError("Invalid service account namespace");
      }
      return narrowed(at, A, { serviceAccount: { namespace, name } });
    },
    [`groupcheck_resource ${GROUP}.resource(string) -> ${RESOURCE}`]: (
      at: AuthorizationValue,
      resource: string,
    ) => {
      if (resource.trim() === "") throw new CelError("resource must not be empty");
      return narrowed(at, RESOURCE, { resource });
    },
    [`resourcecheck_subresource ${RESOURCE}.subresource(string) -> ${RESOURCE}`]:
      part("subresource"),
    [`resourcecheck_namespace ${RESOURCE}.namespace(string) -> ${RESOURCE}`]: part("namespace"),
    [`resourcecheck_name ${RESOURCE}.name(string) -> ${RESOURCE}`]: part("name"),
    [`authorizer_fieldselector ${RESOURCE}.fieldSelector(string) -> ${RESOURCE}`]:
      part("fieldSelector"),
    [`authorizer_labelselector ${RESOURCE}.labelSelector(string) -> ${RESOURCE}`]:
      part("labelSelector"),
    [`pathcheck_check ${PATH}.check(string) -> ${DECISION}`]: ask,
    [`resourcecheck_check ${RESOURCE}.check(string) -> ${DECISION}`]: ask,
    [`decision_errored ${DECISION}.errored() -> bool`]: ({ answer }: DecisionValue) =>
      answer.error !== undefined,
    [`decision_error ${DECISION}.error() -> string`]: ({ answer }: DecisionValue) =>
      answer.error ?? "",
    [`decision_allowed ${DECISION}.allowed() -> bool`]: ({ answer }: DecisionValue) =>
      answer.allowed,
    [`decision_reason ${DECISION}.reason() -> string`]: ({ answer }: DecisionValue) =>
      answer.reason,
  },
};

function narrowed(
  { authorizer, question }: AuthorizationValue,
  type: string,
  more: Omit<AuthorizationQuestion, "verb">,
): AuthorizationValue {
  return new AuthorizationValue(objectType(type), authorizer, { ...question, ...more });
}

function part(name: "subresource" | "namespace" | "name" | "fieldSelector" | "labelSelector") {
  return (at: AuthorizationValue, value: string) => narrowed(at, RESOURCE, { [name]: value });
}

function ask({ authorizer, question }: AuthorizationValue, verb: string): DecisionValue {
  return new DecisionValue(authorizer.decide({ ...question, verb }));
}
