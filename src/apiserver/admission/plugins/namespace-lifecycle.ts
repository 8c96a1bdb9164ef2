/** Nothing is created in a namespace that is not there or is going away; some cannot be deleted. */
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import { failure, forbiddenStatus, notFoundStatus } from "#api/meta/status.ts";
import type { AdmissionPlugin } from "../plugin.ts";
import { refuse } from "../refuse.ts";
import { isOf } from "../requests.ts";

const IMMORTAL = new Set(["default", "kube-system", "kube-public"]);

export const namespaceLifecycle: AdmissionPlugin = {
  name: "NamespaceLifecycle",
  operations: ["CREATE", "UPDATE", "DELETE"],
  admit(request, { objects }) {
    const { operation, kind, namespace, name } = request;
    if (isOf(kind, "", "namespaces")) {
      if (operation !== "DELETE" || !IMMORTAL.has(name)) return;
      const resource = { group: "", resource: "namespaces" };
      return failure(forbiddenStatus(resource, name, "this namespace may not be deleted"));
    }
    if (namespace === "" || operation === "DELETE" || operation === "CONNECT") return;
    // The response would disclose whether the namespace exists.
    if (isOf(kind, "authorization.k8s.io", "localsubjectaccessreviews")) return;

    const found = objects.get(namespaceKind, "", namespace);
    if (found === undefined)
      return failure(notFoundStatus({ group: "", resource: "namespaces" }, namespace));
    if (operation !== "CREATE" || found.status.phase !== "Terminating") return;
    const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
    return failure(
      refuse(request, why, {
        reason: "NamespaceTerminating",
        message: `namespace ${namespace} is being terminated`,
        field: "metadata.namespace",
      }),
    );
  },
};
