/** The variables of expressions about a request: object, oldObject, request, params, namespaceObject, authorizer. */
import type { Activation } from "#api/cel/evaluate/frame.ts";
import { fromJson } from "#api/cel/values/json.ts";
import type { Value } from "#api/cel/values/value.ts";
import {
  AUTHORIZER_TYPE,
  AuthorizationValue,
  type ExpressionAuthorizer,
  RESOURCE_CHECK_TYPE,
} from "#api/expressions/libraries/authorization.ts";
import type { Namespace } from "#api/generated/core.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import type { AdmissionRequest } from "../admission-request.ts";
import type { RequestVersion } from "../matching/request-versions.ts";
import { requestFields } from "./request-fields.ts";

export interface InputOptions {
  readonly params?: KubeObject | undefined;
  readonly namespace?: Namespace | undefined;
  /** Without it the expressions have no `authorizer`. */
  readonly authorizer?: ExpressionAuthorizer;
}

/** Values are made when an expression first reads them. */
export function requestInputs(
  request: AdmissionRequest,
  version: RequestVersion,
  { params, namespace, authorizer }: InputOptions,
): Activation {
  const known = new Map<string, Value | undefined>();
  const make = (name: string): Value | undefined => {
    switch (name) {
      case "object":
        return fromJson(version.object);
      case "oldObject":
        return fromJson(version.old);
      case "params":
        return fromJson(params);
      case "namespaceObject":
        return fromJson(namespace);
      case "request":
        return fromJson(requestFields(request, version.target));
      case "authorizer":
        return authorizer && new AuthorizationValue(AUTHORIZER_TYPE, authorizer, {});
      case "authorizer.requestResource":
        return authorizer && requestResource(request, authorizer);
      default:
        return undefined;
    }
  };
  return {
    find(name) {
      const value = known.get(name);
      if (value !== undefined || known.has(name)) return value;
      const made = make(name);
      known.set(name, made);
      return made;
    },
  };
}

function requestResource(request: AdmissionRequest, authorizer: ExpressionAuthorizer): Value {
  const { requested, subresource, namespace, name } = request;
  return new AuthorizationValue(RESOURCE_CHECK_TYPE, authorizer, {
    group: requested.resource.group,
    resource: requested.resource.resource,
    subresource,
    namespace,
    name,
  });
}
