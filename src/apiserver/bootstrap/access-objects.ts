/** The roles and bindings that every cluster starts with. */
import type {
  ClusterRole,
  ClusterRoleBinding,
  Role,
  RoleBinding,
  Subject,
} from "#api/generated/rbac.v1.ts";
import { COMPONENT_ROLES, NAMESPACED_ROLES } from "./component-roles.ts";
import { CONTROLLER_ROLES } from "./controller-roles.ts";
import { type NamedRules, parseRoles } from "./role-notation.ts";
import { USER_ROLES } from "./user-roles.ts";

const GROUP = "rbac.authorization.k8s.io";
const AGGREGATE = `${GROUP}/aggregate-to-`;

/** Put together from the roles with a label; `joins` is the larger role that this one is part of. */
const AGGREGATED = [
  { name: "view", joins: "edit" },
  { name: "edit", joins: "admin" },
  { name: "admin", joins: undefined },
];

export interface AccessObjects {
  readonly clusterRoles: readonly ClusterRole[];
  readonly clusterRoleBindings: readonly ClusterRoleBinding[];
  readonly roles: readonly Role[];
  readonly roleBindings: readonly RoleBinding[];
}

/** `features`: names of those that are off by default and on here. */
export function accessObjects(features: readonly string[] = []): AccessObjects {
  const trustsBundles = features.includes("ClusterTrustBundle");
  const migrates = features.includes("StorageVersionMigrator");
  const controllers = parseRoles(CONTROLLER_ROLES + (migrates ? MIGRATOR_ROLE : ""));
  const userRoles = parseRoles(USER_ROLES);
  return {
    clusterRoles: [
      ...aggregatedRoles(userRoles),
      ...userRoles.map(clusterRole),
      ...parseRoles(COMPONENT_ROLES)
        .map((role) => (trustsBundles && role.name === NODE ? withBundles(role) : role))
        .map(clusterRole),
      ...(trustsBundles ? BUNDLE_ROLES.map(clusterRole) : []),
      ...controllers.map(({ name, rules }) => clusterRole({ name: controllerRole(name), rules })),
    ],
    clusterRoleBindings: [
      ...Object.entries(CLUSTER_BINDINGS).map(([role, subjects]) => clusterBinding(role, subjects)),
      ...controllers.map(({ name }) =>
        clusterBinding(controllerRole(name), [serviceAccount(name)]),
      ),
      ...(trustsBundles ? [clusterBinding(BUNDLES, [group("system:serviceaccounts")])] : []),
    ],
    roles: parseRoles(NAMESPACED_ROLES).map(({ name: path, rules }) => {
      const [namespace = "", name = ""] = path.split("/");
      return { ...typed("Role"), metadata: { ...meta(name), namespace }, rules };
    }),
    roleBindings: ROLE_BINDINGS.map(roleBinding),
  };
}

/** Where the feature StorageVersionMigrator is on, its controller may rewrite objects of any kind. */
const MIGRATOR_ROLE = `
storage-version-migrator-controller
  create,list,patch *:*
  get apiextensions.k8s.io:customresourcedefinitions
  patch apiextensions.k8s.io:customresourcedefinitions/status
  update storagemigration.k8s.io:storageversionmigrations/status
`;

const NODE = "system:node";
const BUNDLES = "system:cluster-trust-bundle-discovery";
/** Where the feature ClusterTrustBundle is on, service accounts and nodes may read trust bundles. */
const BUNDLE_ROLES = parseRoles(`
${BUNDLES}
  read certificates.k8s.io:clustertrustbundles
`);

function withBundles({ name, rules }: NamedRules): NamedRules {
  return { name, rules: [...rules, ...BUNDLE_ROLES.flatMap((role) => role.rules)] };
}

const user = (name: string): Subject => ({ kind: "User", apiGroup: GROUP, name });
const group = (name: string): Subject => ({ kind: "Group", apiGroup: GROUP, name });
const serviceAccount = (name: string): Subject => ({
  kind: "ServiceAccount",
  name,
  namespace: "kube-system",
});

/** Each binding has the name of its role. */
const CLUSTER_BINDINGS: Readonly<Record<string, readonly Subject[]>> = {
  "cluster-admin": [group("system:masters")],
  "system:basic-user": [group("system:authenticated")],
  "system:discovery": [group("system:authenticated")],
  "system:kube-controller-manager": [user("system:kube-controller-manager")],
  "system:kube-dns": [serviceAccount("kube-dns")],
  "system:kube-scheduler": [user("system:kube-scheduler")],
  "system:monitoring": [group("system:monitoring")],
  "system:node": [], // nodes are judged by the Node authorizer
  "system:node-proxier": [user("system:kube-proxy")],
  "system:public-info-viewer": [group("system:authenticated"), group("system:unauthenticated")],
  "system:service-account-issuer-discovery": [group("system:serviceaccounts")],
  "system:volume-scheduler": [user("system:kube-scheduler")],
};

interface NamespacedBinding {
  readonly namespace: string;
  readonly role: string;
  /** Unless it has the name of its role. */
  readonly name?: string;
  readonly subjects: readonly Subject[];
}

const ROLE_BINDINGS: readonly NamespacedBinding[] = [
  {
    namespace: "kube-public",
    role: "system:controller:bootstrap-signer",
    subjects: [serviceAccount("bootstrap-signer")],
  },
  {
    namespace: "kube-system",
    role: "extension-apiserver-authentication-reader",
    name: "system::extension-apiserver-authentication-reader",
    subjects: [user("system:kube-controller-manager"), user("system:kube-scheduler")],
  },
  {
    namespace: "kube-system",
    role: "system::leader-locking-kube-controller-manager",
    subjects: [
      user("system:kube-controller-manager"),
      serviceAccount("kube-controller-manager"),
      serviceAccount("leader-election-controller"),
    ],
  },
  {
    namespace: "kube-system",
    role: "system::leader-locking-kube-scheduler",
    subjects: [user("system:kube-scheduler"), serviceAccount("kube-scheduler")],
  },
  ...["bootstrap-signer", "cloud-provider", "token-cleaner"].map((name) => ({
    namespace: "kube-system",
    role: controllerRole(name),
    subjects: [serviceAccount(name)],
  })),
];

function controllerRole(name: string): string {
  return `system:controller:${name}`;
}

function typed(kind: string): { apiVersion: string; kind: string } {
  return { apiVersion: `${GROUP}/v1`, kind };
}

function meta(name: string, labels: Readonly<Record<string, string>> = {}) {
  return {
    name,
    labels: { "kubernetes.io/bootstrapping": "rbac-defaults", ...labels },
    annotations: { "rbac.authorization.kubernetes.io/autoupdate": "true" },
  };
}

function clusterRole({ name, rules }: NamedRules): ClusterRole {
  const part = /^system:aggregate-to-(.*)$/.exec(name)?.[1];
  const labels = part === undefined ? {} : { [AGGREGATE + part]: "true" };
  return { ...typed("ClusterRole"), metadata: meta(name, labels), rules };
}

/** Their rules are what the aggregation controller would make of the tables, so they work at once. */
function aggregatedRoles(parts: readonly NamedRules[]): ClusterRole[] {
  const rulesOf = new Map<string, ClusterRole["rules"]>();
  return AGGREGATED.map(({ name, joins }) => {
    const smaller = AGGREGATED.find((one) => one.joins === name)?.name;
    const own = parts.find((part) => part.name === `system:aggregate-to-${name}`)!.rules;
    // Selected roles are taken in the order of their names: edit, system:aggregate-to-…, view.
    const inherited = (smaller && rulesOf.get(smaller)) || [];
    const rules = smaller === "view" ? [...own, ...inherited] : [...inherited, ...own];
    rulesOf.set(name, rules);
    return {
      ...typed("ClusterRole"),
      metadata: meta(name, joins === undefined ? {} : { [AGGREGATE + joins]: "true" }),
      rules,
      aggregationRule: {
        clusterRoleSelectors: [{ matchLabels: { [AGGREGATE + name]: "true" } }],
      },
    };
  });
}

function clusterBinding(name: string, subjects: readonly Subject[]): ClusterRoleBinding {
  return {
    ...typed("ClusterRoleBinding"),
    metadata: meta(name),
    ...(subjects.length > 0 ? { subjects } : {}),
    roleRef: { apiGroup: GROUP, kind: "ClusterRole", name },
  };
}

function roleBinding({ namespace, role, name, subjects }: NamespacedBinding): RoleBinding {
  return {
    ...typed("RoleBinding"),
    metadata: { ...meta(name ?? role), namespace },
    subjects,
    roleRef: { apiGroup: GROUP, kind: "Role", name: role },
  };
}
