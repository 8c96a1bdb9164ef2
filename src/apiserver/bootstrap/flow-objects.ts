/** The flow schemas and priority levels that every cluster starts with. */
import type {
  FlowSchema,
  PolicyRulesWithSubjects,
  PriorityLevelConfiguration,
  Subject,
} from "#api/generated/flowcontrol.v1.ts";

/** These two are the server's own: it undoes any change to their specs. */
export const MANDATORY = new Set(["exempt", "catch-all"]);
export const AUTO_UPDATE = "apf.kubernetes.io/autoupdate-spec";

interface LevelSpec {
  readonly shares: number;
  readonly lendablePercent: number;
  /** Queues, how many of them one flow may use, and how long each is; none: refuse at once. */
  readonly queuing?: { queues: number; handSize: number; queueLengthLimit: number };
}

const LEVELS: Readonly<Record<string, LevelSpec>> = {
  "catch-all": { shares: 5, lendablePercent: 0 },
  "global-default": { shares: 20, lendablePercent: 50, queuing: queuing(128, 6) },
  "leader-election": { shares: 10, lendablePercent: 0, queuing: queuing(16, 4) },
  "node-high": { shares: 40, lendablePercent: 25, queuing: queuing(64, 6) },
  system: { shares: 30, lendablePercent: 33, queuing: queuing(64, 6) },
  "workload-high": { shares: 40, lendablePercent: 50, queuing: queuing(128, 6) },
  "workload-low": { shares: 100, lendablePercent: 90, queuing: queuing(128, 6) },
};

interface SchemaSpec {
  readonly level: string;
  readonly precedence: number;
  readonly distinguish?: "ByUser" | "ByNamespace";
  readonly rule: PolicyRulesWithSubjects;
}

const group = (name: string): Subject => ({ kind: "Group", group: { name } });
const user = (name: string): Subject => ({ kind: "User", user: { name } });
const KUBE_SYSTEM: Subject = {
  kind: "ServiceAccount",
  serviceAccount: { namespace: "kube-system", name: "*" },
};
const EVERYONE = [group("system:unauthenticated"), group("system:authenticated")];
const LEASES = { apiGroups: ["coordination.k8s.io"], resources: ["leases"], namespaces: ["*"] };

const everything = (...subjects: readonly Subject[]): PolicyRulesWithSubjects => ({
  subjects,
  resourceRules: [
    { verbs: ["*"], apiGroups: ["*"], resources: ["*"], clusterScope: true, namespaces: ["*"] },
  ],
  nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
});

const SCHEMAS: Readonly<Record<string, SchemaSpec>> = {
  exempt: { level: "exempt", precedence: 1, rule: everything(group("system:masters")) },
  probes: {
    level: "exempt",
    precedence: 2,
    rule: {
      subjects: EVERYONE,
      nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["/healthz", "/readyz", "/livez"] }],
    },
  },
  "system-leader-election": {
    level: "leader-election",
    precedence: 100,
    distinguish: "ByUser",
    rule: {
      subjects: [
        user("system:kube-controller-manager"),
        user("system:kube-scheduler"),
        KUBE_SYSTEM,
      ],
      resourceRules: [{ verbs: ["get", "create", "update"], ...LEASES }],
    },
  },
  "system-node-high": {
    level: "node-high",
    precedence: 400,
    distinguish: "ByUser",
    rule: {
      subjects: [group("system:nodes")],
      resourceRules: [
        {
          verbs: ["*"],
          apiGroups: [""],
          resources: ["nodes", "nodes/status"],
          clusterScope: true,
          namespaces: ["*"],
        },
        { verbs: ["*"], ...LEASES },
      ],
    },
  },
  "system-nodes": {
    level: "system",
    precedence: 500,
    distinguish: "ByUser",
    rule: everything(group("system:nodes")),
  },
  "kube-controller-manager": {
    level: "workload-high",
    precedence: 800,
    distinguish: "ByNamespace",
    rule: everything(user("system:kube-controller-manager")),
  },
  "kube-scheduler": {
    level: "workload-high",
    precedence: 800,
    distinguish: "ByNamespace",
    rule: everything(user("system:kube-scheduler")),
  },
  "kube-system-service-accounts": {
    level: "workload-high",
    precedence: 900,
    distinguish: "ByNamespace",
    rule: everything(KUBE_SYSTEM),
  },
  "service-accounts": {
    level: "workload-low",
    precedence: 9000,
    distinguish: "ByUser",
    rule: everything(group("system:serviceaccounts")),
  },
  "global-default": {
    level: "global-default",
    precedence: 9900,
    distinguish: "ByUser",
    rule: everything(...EVERYONE),
  },
  "catch-all": {
    level: "catch-all",
    precedence: 10_000,
    distinguish: "ByUser",
    rule: everything(...EVERYONE),
  },
};

export function flowSchemas(): FlowSchema[] {
  return Object.entries(SCHEMAS).map(([name, { level, precedence, distinguish, rule }]) => ({
    ...typed("FlowSchema"),
    metadata: { name, generation: 1, annotations: { [AUTO_UPDATE]: "true" } },
    spec: {
      priorityLevelConfiguration: { name: level },
      matchingPrecedence: precedence,
      ...(distinguish === undefined ? {} : { distinguisherMethod: { type: distinguish } }),
      rules: [rule],
    },
    status: {},
  }));
}

export function priorityLevels(): PriorityLevelConfiguration[] {
  const limited = Object.entries(LEVELS).map(([name, spec]) => level(name, limitedSpec(spec)));
  const exempt = { nominalConcurrencyShares: 0, lendablePercent: 0 };
  return [...limited, level("exempt", { type: "Exempt", exempt })];
}

function limitedSpec({
  shares,
  lendablePercent,
  queuing: queue,
}: LevelSpec): PriorityLevelConfiguration["spec"] {
  return {
    type: "Limited",
    limited: {
      nominalConcurrencyShares: shares,
      limitResponse: queue === undefined ? { type: "Reject" } : { type: "Queue", queuing: queue },
      lendablePercent,
    },
  };
}

function level(name: string, spec: PriorityLevelConfiguration["spec"]): PriorityLevelConfiguration {
  const metadata = { name, generation: 1, annotations: { [AUTO_UPDATE]: "true" } };
  return { ...typed("PriorityLevelConfiguration"), metadata, spec, status: {} };
}

function queuing(queues: number, handSize: number) {
  return { queues, handSize, queueLengthLimit: 50 };
}

function typed(kind: string): { apiVersion: string; kind: string } {
  return { apiVersion: "flowcontrol.apiserver.k8s.io/v1", kind };
}
