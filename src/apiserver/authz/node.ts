/** Nodes see and change what concerns them: their own objects and those that their pods refer to. */

import { goQuote } from "#api/meta/go-quote.ts";
import { COMPONENT_ROLES } from "../bootstrap/component-roles.ts";
import { parseRoles } from "../bootstrap/role-notation.ts";
import type { User } from "../request/request.ts";
import type { AccessAttributes, Authorizer, Decision } from "./authorizer.ts";
import type { NodeObjects, RelatedType } from "./node-objects.ts";
import { allowsAnyName, allowsName } from "./rule.ts";

const NODES_GROUP = "system:nodes";
const USER_PREFIX = "system:node:";
const LEASE_NAMESPACE = "kube-node-lease";
const ALLOW: Decision = { decision: "allow", reason: "" };
const NO_OPINION: Decision = noOpinion("");
const CERTIFICATE_REQUESTS = "certificates.k8s.io/podcertificaterequests";
const TRUST_BUNDLE_RULES = "\n  read certificates.k8s.io:clustertrustbundles";

/** Undefined for users that are no nodes; "" for a node that does not say which. */
export function nodeNameOf({ name, groups }: User): string | undefined {
  const isNode = groups.includes(NODES_GROUP) && name.startsWith(USER_PREFIX);
  return isNode ? name.slice(USER_PREFIX.length) : undefined;
}

/** `features`: names of those that are off by default and on here. */
export function createNodeAuthorizer(
  related: NodeObjects,
  features: readonly string[] = [],
): Authorizer {
  const more = features.includes("ClusterTrustBundle") ? TRUST_BUNDLE_RULES : "";
  const roles = parseRoles(COMPONENT_ROLES.replace(/^system:node$/m, `system:node${more}`));
  const { rules } = roles.find(({ name }) => name === "system:node")!;
  const judges = features.includes("PodCertificateRequest")
    ? { ...JUDGES, [CERTIFICATE_REQUESTS]: judgePodCertificateRequest }
    : JUDGES;
  const byRule = (attributes: AccessAttributes): Decision =>
    rules.some((rule) => allowsAnyName(rule, attributes) && allowsName(rule, attributes.name))
      ? ALLOW
      : NO_OPINION;

  return {
    name: "Node",
    authorize(attributes) {
      const node = nodeNameOf(attributes.user);
      if (node === undefined) return NO_OPINION;
      if (node === "") return noOpinion(`unknown node for user ${goQuote(attributes.user.name)}`);
      const { isResource, group, resource } = attributes;
      const judge = isResource ? judges[`${group}/${resource}`] : undefined;
      return judge === undefined ? byRule(attributes) : judge({ node, attributes, related });
    },
    rulesFor: (user) => ({
      rules: [],
      incomplete: nodeNameOf(user) !== undefined,
      faults:
        nodeNameOf(user) === undefined
          ? []
          : ["node authorizer does not support user rule resolution"],
    }),
  };
}

interface Question {
  readonly node: string;
  readonly attributes: AccessAttributes;
  readonly related: NodeObjects;
}

type Judge = (question: Question) => Decision;

const JUDGES: Readonly<Record<string, Judge>> = {
  "/secrets": readOf("secret"),
  "/configmaps": readOf("configmap"),
  "/persistentvolumeclaims": judgeClaim,
  "/persistentvolumes": getOf("persistentvolume"),
  "resource.k8s.io/resourceclaims": getOf("resourceclaim"),
  "storage.k8s.io/volumeattachments": getOf("volumeattachment"),
  "/serviceaccounts": judgeServiceAccount,
  "coordination.k8s.io/leases": judgeLease,
  "storage.k8s.io/csinodes": judgeCsiNode,
  "resource.k8s.io/resourceslices": judgeResourceSlice,
  "/nodes": judgeNode,
  "/pods": judgePod,
  [CERTIFICATE_REQUESTS]: () => NO_OPINION,
};

function noOpinion(reason: string): Decision {
  return { decision: "noOpinion", reason };
}

function ifRelated({ node, attributes, related }: Question, type: RelatedType): Decision {
  const { namespace, name } = attributes;
  if (name === "") return noOpinion("No Object name found");
  return related.isRelated(node, type, namespace, name)
    ? ALLOW
    : noOpinion(`no relationship found between node '${node}' and this object`);
}

function getOf(type: RelatedType): Judge {
  return (question) => {
    const { verb, subresource } = question.attributes;
    if (verb !== "get") return noOpinion("can only get individual resources of this type");
    if (subresource !== "") return noOpinion("cannot get subresource");
    return ifRelated(question, type);
  };
}

function readOf(type: RelatedType): Judge {
  return (question) => {
    const { verb, subresource, namespace } = question.attributes;
    if (!["get", "list", "watch"].includes(verb)) {
      return noOpinion("can only read resources of this type");
    }
    if (subresource !== "") return noOpinion("cannot read subresource");
    if (namespace === "") return noOpinion("can only read namespaced object of this type");
    return ifRelated(question, type);
  };
}

function judgeClaim(question: Question): Decision {
  const { verb, subresource } = question.attributes;
  if (subresource !== "status") return getOf("persistentvolumeclaim")(question);
  if (verb !== "update" && verb !== "patch") {
    return noOpinion("can only get/update/patch this type");
  }
  return ifRelated(question, "persistentvolumeclaim");
}

function judgeServiceAccount(question: Question): Decision {
  const { verb, subresource, name } = question.attributes;
  if (verb === "get" && subresource === "") return readOf("serviceaccount")(question);
  if (verb !== "create" || name === "") {
    return noOpinion("can only create tokens for individual service accounts");
  }
  if (subresource !== "token") {
    return noOpinion("can only create token subresource of serviceaccount");
  }
  return ifRelated(question, "serviceaccount");
}

const OWN_OBJECT_VERBS = ["get", "create", "update", "patch", "delete"];

/** The name is not known when something is created; admission looks at it then. */
function judgeLease({ node, attributes: { verb, namespace, name } }: Question): Decision {
  if (!OWN_OBJECT_VERBS.includes(verb)) {
    return noOpinion("can only get, create, update, patch, or delete a node lease");
  }
  if (namespace !== LEASE_NAMESPACE) {
    return noOpinion(`can only access leases in the "${LEASE_NAMESPACE}" system namespace`);
  }
  return verb === "create" || name === node
    ? ALLOW
    : noOpinion("can only access node lease with the same name as the requesting node");
}

function judgeCsiNode({ node, attributes: { verb, subresource, name } }: Question): Decision {
  if (!OWN_OBJECT_VERBS.includes(verb)) {
    return noOpinion("can only get, create, update, patch, or delete a CSINode");
  }
  if (subresource !== "") return noOpinion("cannot authorize CSINode subresources");
  return verb === "create" || name === node
    ? ALLOW
    : noOpinion("can only access CSINode with the same name as the requesting node");
}

function judgeResourceSlice(question: Question): Decision {
  const { verb, subresource } = question.attributes;
  if (subresource !== "") return noOpinion("cannot authorize ResourceSlice subresources");
  if (verb === "create") return ALLOW;
  if (["get", "update", "patch", "delete"].includes(verb)) {
    return ifRelated(question, "resourceslice");
  }
  if (["watch", "list", "deletecollection"].includes(verb)) {
    return selectsNode(question)
      ? ALLOW
      : noOpinion(
          "can only list/watch/deletecollection resourceslices with nodeName field selector",
        );
  }
  return noOpinion(
    "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection",
  );
}

function judgeNode({ node, attributes: { verb, subresource, name } }: Question): Decision {
  if (subresource === "status") return verb === "update" || verb === "patch" ? ALLOW : NO_OPINION;
  if (subresource !== "") return NO_OPINION;
  if (["create", "update", "patch"].includes(verb)) return ALLOW;
  if (!["get", "list", "watch"].includes(verb)) return NO_OPINION;
  if (name === node) return ALLOW;
  return noOpinion(
    name === ""
      ? `node '${node}' cannot read all nodes, only its own Node object`
      : `node '${node}' cannot read '${name}', only its own Node object`,
  );
}

function judgePod(question: Question): Decision {
  const { verb, subresource, name } = question.attributes;
  if (subresource === "status") return verb === "update" || verb === "patch" ? ALLOW : NO_OPINION;
  if (subresource === "eviction") return verb === "create" ? ALLOW : NO_OPINION;
  if (subresource !== "") return NO_OPINION;
  if (verb === "create" || verb === "delete") return ALLOW;
  if (verb === "get") return ifRelated(question, "pod");
  if (verb !== "list" && verb !== "watch") return NO_OPINION;
  if (selectsNode(question)) return ALLOW;
  if (name !== "") return ifRelated(question, "pod");
  return noOpinion("can only list/watch pods with spec.nodeName field selector");
}

/** What is created is judged by admission. */
function judgePodCertificateRequest(question: Question): Decision {
  const { verb, subresource } = question.attributes;
  if (subresource !== "") {
    return noOpinion("nodes may not access the status subresource of PodCertificateRequests");
  }
  switch (verb) {
    case "create":
      return ALLOW;
    case "get":
      return ifRelated(question, "podcertificaterequest");
    case "list":
    case "watch":
      return selectsNode(question)
        ? ALLOW
        : noOpinion("can only list/watch podcertificaterequests with nodeName field selector");
    default:
      return noOpinion(`nodes may not ${verb} podcertificaterequests`);
  }
}

function selectsNode({ node, attributes }: Question): boolean {
  return (attributes.fieldSelector ?? []).some(
    ({ field, operator, value }) => field === "spec.nodeName" && operator === "=" && value === node,
  );
}
