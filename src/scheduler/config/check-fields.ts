/**
 * Refuses fields that a KubeSchedulerConfiguration or the arguments of a built-in plugin do not
 * have, in upstream's words. Arguments of other plugins are theirs to check.
 */
import { goQuote } from "#api/meta/go-quote.ts";
import { HOOKS } from "#scheduler/cycle/profile.ts";
import { ConfigError } from "./config-error.ts";
import { type Json, listOf, objectOf } from "./json-values.ts";

/** The fields of an object, each with its own form: a plain value, an object or a list of these. */
type Form = "plain" | { readonly [field: string]: Form } | readonly [Form];

const GROUP = "kubescheduler.config.k8s.io";
const STRICT = "strict decoding error: ";

const plain = (...names: readonly string[]): Readonly<Record<string, "plain">> =>
  Object.fromEntries(names.map((name) => [name, "plain"]));

const TYPE = plain("apiVersion", "kind");
const RESOURCE = plain("name", "weight");
const SHAPE = [plain("utilization", "score")] as const;
const EXPRESSIONS = [plain("key", "operator", "values")] as const;
const NODE_SELECTOR_TERM = { matchExpressions: EXPRESSIONS, matchFields: EXPRESSIONS } as const;
const PLUGIN_SET = { enabled: [RESOURCE], disabled: [RESOURCE] } as const;
const PLUGIN_SETS = [...HOOKS, "multiPoint", "placementGenerate", "placementScore"] as const;

const CONFIGURATION: Form = {
  ...TYPE,
  ...plain("parallelism", "enableProfiling", "enableContentionProfiling"),
  ...plain("percentageOfNodesToScore", "podInitialBackoffSeconds", "podMaxBackoffSeconds"),
  ...plain("delayCacheUntilActive"),
  leaderElection: {
    ...plain("leaderElect", "leaseDuration", "renewDeadline", "retryPeriod"),
    ...plain("resourceLock", "resourceName", "resourceNamespace"),
  },
  clientConnection: plain("kubeconfig", "acceptContentTypes", "contentType", "qps", "burst"),
  profiles: [
    {
      ...plain("schedulerName", "percentageOfNodesToScore"),
      plugins: Object.fromEntries(PLUGIN_SETS.map((name) => [name, PLUGIN_SET])),
      pluginConfig: [plain("name", "args")],
    },
  ],
  extenders: [
    {
      ...plain("urlPrefix", "filterVerb", "preemptVerb", "prioritizeVerb", "weight", "bindVerb"),
      ...plain("enableHTTPS", "httpTimeout", "nodeCacheCapable", "ignorable"),
      managedResources: [plain("name", "ignoredByScheduler")],
      tlsConfig: {
        ...plain("insecure", "serverName", "certFile", "keyFile", "caFile"),
        ...plain("certData", "keyData", "caData"),
      },
    },
  ],
};

const ARGS = new Map<string, Form>([
  ["DefaultPreemption", plain("minCandidateNodesPercentage", "minCandidateNodesAbsolute")],
  ["DynamicResources", plain("filterTimeout", "bindingTimeout")],
  ["InterPodAffinity", plain("hardPodAffinityWeight", "ignorePreferredTermsOfExistingPods")],
  [
    "NodeAffinity",
    {
      addedAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [NODE_SELECTOR_TERM] },
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: "plain", preference: NODE_SELECTOR_TERM },
        ],
      },
    },
  ],
  ["NodeResourcesBalancedAllocation", { resources: [RESOURCE] }],
  [
    "NodeResourcesFit",
    {
      ...plain("ignoredResources", "ignoredResourceGroups"),
      scoringStrategy: {
        type: "plain",
        resources: [RESOURCE],
        requestedToCapacityRatio: { shape: SHAPE },
      },
    },
  ],
  [
    "PodTopologySpread",
    {
      defaultingType: "plain",
      defaultConstraints: [
        {
          ...plain("maxSkew", "topologyKey", "whenUnsatisfiable", "minDomains", "matchLabelKeys"),
          ...plain("nodeAffinityPolicy", "nodeTaintsPolicy"),
          labelSelector: { matchLabels: "plain", matchExpressions: EXPRESSIONS },
        },
      ],
    },
  ],
  ["VolumeBinding", { bindTimeoutSeconds: "plain", shape: SHAPE }],
]);

/** Throws ConfigError if there are fields that do not exist. */
export function checkFields(config: Json): void {
  const faults = unknownFields(config, CONFIGURATION, "");
  for (const [i, profile] of listOf(config.profiles).entries()) {
    for (const [k, one] of listOf(objectOf(profile).pluginConfig).entries()) {
      const { name, args } = objectOf(one);
      const fault = faultInArgs(String(name ?? ""), objectOf(args));
      if (fault === undefined) continue;
      const where = `decoding .profiles[${i}].pluginConfig[${k}]: `;
      if (!fault.isStrict) throw new ConfigError(where + fault.text);
      faults.push(where + STRICT + fault.text);
    }
  }
  if (faults.length > 0) throw new ConfigError(STRICT + faults.join(", "));
}

function faultInArgs(
  plugin: string,
  args: Json,
): { readonly isStrict: boolean; readonly text: string } | undefined {
  const form = ARGS.get(plugin);
  if (form === undefined) return undefined;
  const kind = String(args.kind ?? `${plugin}Args`);
  if (kind !== `${plugin}Args`) {
    const types = `not of type ${plugin}Args.${GROUP}, got ${kind}.${GROUP}`;
    return { isStrict: false, text: `args for plugin ${plugin} were ${types}` };
  }
  const faults = unknownFields(args, { ...TYPE, ...(form as object) }, "");
  if (faults.length === 0) return undefined;
  const text = `decoding args for plugin ${plugin}: ${STRICT}${faults.join(", ")}`;
  return { isStrict: true, text };
}

/** In the order of their names. */
function unknownFields(value: unknown, form: Form, path: string): string[] {
  if (form === "plain") return [];
  if (isList(form)) {
    return listOf(value).flatMap((one, i) => unknownFields(one, form[0], `${path}[${i}]`));
  }
  return Object.entries(objectOf(value))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([name, inner]) => {
      const at = path === "" ? name : `${path}.${name}`;
      if (!Object.hasOwn(form, name)) return [`unknown field ${goQuote(at)}`];
      return unknownFields(inner, form[name]!, at);
    });
}

function isList(form: Exclude<Form, "plain">): form is readonly [Form] {
  return Array.isArray(form);
}
