/** PodTolerationRestriction: what pods of a namespace tolerate without asking, and what they may. */

import { parseJson } from "#api/codec/json.ts";
import type { Toleration } from "#api/generated/core.v1.ts";
import type { Status } from "#api/generated/meta.v1.ts";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { failure, success, unknownStatus } from "#api/meta/status.ts";
import { schemaOf } from "#api/schema/from-facts.ts";
import {
  type ConfigKind,
  configSchema,
  decodeConfigPart,
  listOf,
} from "../../config/config-file.ts";
import type { Objects } from "../../storage/objects.ts";
import type { AdmissionRequest } from "../admission-request.ts";
import { withSpec } from "../changed-object.ts";
import type { AdmissionPlugin } from "../plugin.ts";
import { objectOfKind } from "../requests.ts";
import { covers, mergeTolerations } from "./merge-tolerations.ts";

const DEFAULTS = "scheduler.alpha.kubernetes.io/defaultTolerations";
const ALLOWED = "scheduler.alpha.kubernetes.io/tolerationsWhitelist";
/** What decides whether a pod is more than a best effort. */
const QUALITY: ReadonlySet<string> = new Set(["cpu", "memory"]);
const MEMORY_PRESSURE: Toleration = {
  key: "node.kubernetes.io/memory-pressure",
  operator: "Exists",
  effect: "NoSchedule",
};

interface Configuration {
  readonly default?: readonly Toleration[];
  readonly whitelist?: readonly Toleration[];
}

export function podTolerationRestriction(configuration: unknown): AdmissionPlugin {
  const cluster: Configuration =
    configuration === undefined ? {} : (decodeConfigPart(configuration, configKind()) as object);
  const check = (request: AdmissionRequest, objects: Objects): Status | undefined => {
    const pod = objectOfKind(request, podKind, ["CREATE", "UPDATE"]);
    const tolerations = pod?.spec.tolerations ?? [];
    if (tolerations.length === 0) return;
    const own = annotated(objects, request, ALLOWED);
    if (typeof own === "string") return unknownStatus(own);
    const list = own ?? cluster.whitelist ?? [];
    const fits = tolerations.every((one) => list.some((wide) => covers(wide, one)));
    if (list.length === 0 || fits) return;
    const scope = own === undefined ? "cluster" : "namespace";
    return unknownStatus(
      "pod tolerations (possibly merged with namespace default tolerations) conflict with its " +
        `${scope} whitelist`,
    );
  };
  return {
    name: "PodTolerationRestriction",
    operations: ["CREATE", "UPDATE"],
    admit(request, context) {
      const pod = objectOfKind(request, podKind, ["CREATE", "UPDATE"]);
      if (pod === undefined) return;
      let added: readonly Toleration[] = [];
      if (request.operation === "CREATE") {
        const own = annotated(context.objects, request, DEFAULTS);
        if (typeof own === "string") return failure(unknownStatus(own));
        added = own ?? cluster.default ?? [];
      }
      // Pods without requests or limits are the first to go when memory is short.
      const modest = [...(pod.spec.containers ?? []), ...(pod.spec.initContainers ?? [])].every(
        ({ resources }) =>
          !Object.keys({ ...resources?.requests, ...resources?.limits }).some((name) =>
            QUALITY.has(name),
          ),
      );
      if (!modest) added = [...added, MEMORY_PRESSURE];
      const tolerations = mergeTolerations([...(pod.spec.tolerations ?? []), ...added]);
      const tolerant = added.length === 0 ? pod : withSpec(pod, { tolerations });
      const refusal = check({ ...request, object: tolerant }, context.objects);
      return refusal === undefined ? success(tolerant) : failure(refusal);
    },
    validate: (request, { objects }) => check(request, objects),
  };
}

/** What the namespace says itself; a text if it cannot be read. */
function annotated(
  objects: Objects,
  { namespace }: AdmissionRequest,
  annotation: string,
): readonly Toleration[] | undefined | string {
  const text = objects.get(namespaceKind, "", namespace)?.metadata.annotations?.[annotation];
  if (text === undefined) return undefined;
  if (text === "") return [];
  const parsed = parseJson(text);
  return parsed.ok ? (parsed.value as Toleration[]) : parsed.error;
}

function configKind(): ConfigKind {
  const tolerations = listOf(schemaOf("core.v1.Toleration"));
  return {
    kind: "Configuration",
    apiVersions: ["podtolerationrestriction.admission.k8s.io/v1alpha1"],
    schema: configSchema("v1alpha1.Configuration", {
      default: tolerations,
      whitelist: tolerations,
    }),
  };
}
