/** The fields of a KubeSchedulerConfiguration and of the arguments of built-in plugins, with Go's types. */
import { HOOKS } from "#scheduler/cycle/profile.ts";

/** A value of a Go type, an object with known fields, a list of these, or anything. */
export type FieldForm = GoType | Struct | readonly [FieldForm];

export type GoType = "string" | "bool" | "int32" | "int64" | "float32" | "duration" | "any";

export interface Struct {
  /** The name of the Go type. */
  readonly struct: string;
  readonly fields: Readonly<Record<string, FieldForm>>;
}

type Fields = Struct["fields"];

const of = (type: GoType, ...names: readonly string[]): Fields =>
  Object.fromEntries(names.map((name) => [name, type]));

const struct = (name: string, ...fields: readonly Fields[]): Struct => ({
  struct: name,
  fields: Object.assign({}, ...fields),
});

const TYPE = of("string", "apiVersion", "kind");
const SHAPE = [struct("UtilizationShapePoint", of("int32", "utilization", "score"))] as const;
const RESOURCES = [struct("ResourceSpec", of("string", "name"), of("int64", "weight"))] as const;
const EXPRESSIONS = [
  struct("NodeSelectorRequirement", of("any", "key", "operator", "values")),
] as const;
const NODE_SELECTOR_TERM = struct("NodeSelectorTerm", {
  matchExpressions: EXPRESSIONS,
  matchFields: EXPRESSIONS,
});
const PLUGIN = struct("Plugin", of("string", "name"), of("int32", "weight"));
const PLUGIN_SET = struct("PluginSet", { enabled: [PLUGIN], disabled: [PLUGIN] });
const PLUGIN_SETS = [...HOOKS, "multiPoint", "placementGenerate", "placementScore"] as const;

export const CONFIGURATION: Struct = struct(
  "KubeSchedulerConfiguration",
  TYPE,
  of("int32", "parallelism", "percentageOfNodesToScore"),
  of("int64", "podInitialBackoffSeconds", "podMaxBackoffSeconds"),
  of("bool", "enableProfiling", "enableContentionProfiling", "delayCacheUntilActive"),
  {
    leaderElection: struct(
      "LeaderElectionConfiguration",
      of("bool", "leaderElect"),
      of("duration", "leaseDuration", "renewDeadline", "retryPeriod"),
      of("string", "resourceLock", "resourceName", "resourceNamespace"),
    ),
    clientConnection: struct(
      "ClientConnectionConfiguration",
      of("string", "kubeconfig", "acceptContentTypes", "contentType"),
      of("float32", "qps"),
      of("int32", "burst"),
    ),
    profiles: [
      struct("KubeSchedulerProfile", of("string", "schedulerName"), {
        percentageOfNodesToScore: "int32",
        plugins: struct(
          "Plugins",
          Object.fromEntries(PLUGIN_SETS.map((name) => [name, PLUGIN_SET])),
        ),
        pluginConfig: [struct("PluginConfig", of("string", "name"), of("any", "args"))],
      }),
    ],
    extenders: [
      struct(
        "Extender",
        of("string", "urlPrefix", "filterVerb", "preemptVerb", "prioritizeVerb", "bindVerb"),
        of("int64", "weight"),
        of("bool", "enableHTTPS", "nodeCacheCapable", "ignorable"),
        of("duration", "httpTimeout"),
        {
          managedResources: [
            struct(
              "ExtenderManagedResource",
              of("string", "name"),
              of("bool", "ignoredByScheduler"),
            ),
          ],
          tlsConfig: struct(
            "ExtenderTLSConfig",
            of("bool", "insecure"),
            of("string", "serverName", "certFile", "keyFile", "caFile"),
            of("any", "certData", "keyData", "caData"),
          ),
        },
      ),
    ],
  },
);

/** By the name of the plugin. */
export const PLUGIN_ARGS: ReadonlyMap<string, Struct> = new Map(
  Object.entries({
    DefaultPreemption: of("int32", "minCandidateNodesPercentage", "minCandidateNodesAbsolute"),
    DynamicResources: of("duration", "filterTimeout", "bindingTimeout"),
    InterPodAffinity: {
      hardPodAffinityWeight: "int32",
      ignorePreferredTermsOfExistingPods: "bool",
    },
    NodeAffinity: {
      addedAffinity: struct("NodeAffinity", {
        requiredDuringSchedulingIgnoredDuringExecution: struct("NodeSelector", {
          nodeSelectorTerms: [NODE_SELECTOR_TERM],
        }),
        preferredDuringSchedulingIgnoredDuringExecution: [
          struct("PreferredSchedulingTerm", { weight: "int32", preference: NODE_SELECTOR_TERM }),
        ],
      }),
    },
    NodeResourcesBalancedAllocation: { resources: RESOURCES },
    NodeResourcesFit: {
      ...of("any", "ignoredResources", "ignoredResourceGroups"),
      scoringStrategy: struct("ScoringStrategy", {
        type: "string",
        resources: RESOURCES,
        requestedToCapacityRatio: struct("RequestedToCapacityRatioParam", { shape: SHAPE }),
      }),
    },
    PodTopologySpread: {
      defaultingType: "string",
      defaultConstraints: [
        struct(
          "TopologySpreadConstraint",
          of("int32", "maxSkew", "minDomains"),
          of("string", "topologyKey", "whenUnsatisfiable"),
          of("any", "nodeAffinityPolicy", "nodeTaintsPolicy", "matchLabelKeys"),
          {
            labelSelector: struct("LabelSelector", {
              matchLabels: "any",
              matchExpressions: [
                struct("LabelSelectorRequirement", of("any", "key", "operator", "values")),
              ],
            }),
          },
        ),
      ],
    },
    VolumeBinding: { bindTimeoutSeconds: "int64", shape: SHAPE },
  } satisfies Record<string, Fields>).map(([plugin, fields]: [string, Fields]) => [
    plugin,
    struct(`${plugin}Args`, TYPE, fields),
  ]),
);
