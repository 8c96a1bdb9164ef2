/** A request in the fields of admission.k8s.io AdmissionRequest, as webhooks and expressions see it. */
import { userInfo } from "../../authn/reviews.ts";
import type { AdmissionRequest, AdmissionTarget } from "../admission-request.ts";

/** Without uid and objects. */
export function requestFields(
  request: AdmissionRequest,
  { kind, resource }: AdmissionTarget,
): Readonly<Record<string, unknown>> {
  const { requested, subresource, name, namespace } = request;
  return {
    kind,
    resource,
    ...(subresource === "" ? {} : { subResource: subresource }),
    requestKind: requested.kind,
    requestResource: requested.resource,
    ...(subresource === "" ? {} : { requestSubResource: subresource }),
    ...(name === "" ? {} : { name }),
    ...(namespace === "" ? {} : { namespace }),
    operation: request.operation,
    userInfo: userInfo(request.user),
    dryRun: request.dryRun,
    options: Object.keys(request.options).length === 0 ? null : request.options,
  };
}
