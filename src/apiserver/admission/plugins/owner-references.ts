/** OwnerReferencesPermissionEnforcement: changing ownerReferences needs permission to delete the object. */
import { isDeepStrictEqual } from "node:util";
import type { OwnerReference } from "#api/generated/meta.v1.ts";
import type { Kind, KubeObject } from "#api/kind.ts";
import type { AccessAttributes, Authorizer } from "../../authz/authorizer.ts";
import type { AdmissionRequest } from "../admission-request.ts";
import type { AdmissionPlugin } from "../plugin.ts";
import { refuse } from "../refuse.ts";
import { isOf } from "../requests.ts";

/** `findKind`: what a reference may be to. */
export function ownerReferencesPermissionEnforcement(
  authorizer: Authorizer,
  findKind: (apiVersion: string, kind: string) => Kind | undefined,
): AdmissionPlugin {
  return {
    name: "OwnerReferencesPermissionEnforcement",
    operations: ["CREATE", "UPDATE"],
    async validate(request) {
      const { operation, object, old, kind, subresource, namespace, name } = request;
      if (operation !== "CREATE" && operation !== "UPDATE") return undefined;
      // Old kubelets write wrong owners there, which changes nothing.
      if (isOf(kind, "", "pods") && subresource === "status") return undefined;
      const [next, before] = [ownersOf(object), ownersOf(old)];
      if (isDeepStrictEqual(next, before)) return undefined;
      const may = async (about: Partial<AccessAttributes>): Promise<string | undefined> => {
        const decided = await authorizer.authorize(attributes(request, about));
        return decided.decision === "allow" ? undefined : decided.reason;
      };
      if (operation === "UPDATE") {
        const { group, version, names } = kind;
        const resource = names.plural;
        const about = { verb: "delete", group, version, resource, subresource, namespace, name };
        const reason = await may(about);
        if (reason !== undefined) {
          const why = `cannot set an ownerRef on a resource you can't delete: ${reason}, <nil>`;
          return refuse(request, why);
        }
      }
      const blocking = newlyBlocking(next, before);
      if (blocking.length === 0 || (await may(FINALIZE_ANYTHING)) === undefined) return undefined;
      for (const reference of blocking) {
        const owner = findKind(reference.apiVersion, reference.kind);
        if (owner === undefined) return refuse(request, noMapping(reference));
        const reason = await may({
          ...FINALIZE_ANYTHING,
          group: owner.group,
          version: owner.version,
          resource: owner.names.plural,
          name: reference.name,
          namespace: owner.scope === "Namespaced" ? namespace : "",
        });
        if (reason !== undefined) {
          const why =
            "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set " +
            `finalizers on: ${reason}, <nil>`;
          return refuse(request, why);
        }
      }
      return undefined;
    },
  };
}

const FINALIZE_ANYTHING = {
  verb: "update",
  group: "*",
  version: "*",
  resource: "*",
  subresource: "finalizers",
  name: "*",
  namespace: "",
} as const;

function attributes(
  { user }: AdmissionRequest,
  about: Partial<AccessAttributes>,
): AccessAttributes {
  const none = { group: "", version: "", resource: "", subresource: "", namespace: "", name: "" };
  return { isResource: true, path: "", verb: "", ...none, ...about, user };
}

function ownersOf(object: unknown): readonly OwnerReference[] {
  return (object as KubeObject | undefined)?.metadata?.ownerReferences ?? [];
}

function newlyBlocking(
  next: readonly OwnerReference[],
  before: readonly OwnerReference[],
): readonly OwnerReference[] {
  return next.filter(({ uid, blockOwnerDeletion }) => {
    const known = before.find((one) => one.uid === uid);
    return blockOwnerDeletion === true && known?.blockOwnerDeletion !== true;
  });
}

function noMapping({ apiVersion, kind }: OwnerReference): string {
  const why = `no matches for kind "${kind}" in version "${apiVersion}"`;
  return (
    "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for " +
    `APIVersion ${apiVersion} Kind ${kind}: ${why}`
  );
}
