/** PodSecurity: labels of the namespace select the Pod Security Standard for its pods. */

import type { CronJob } from "#api/generated/batch.v1.ts";
import type { Pod } from "#api/generated/core.v1.ts";
import type { Status } from "#api/generated/meta.v1.ts";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { internalErrorStatus, invalidStatus } from "#api/meta/status.ts";
import { formatFieldErrors } from "#api/validation/format-field-error.ts";
import type { Objects } from "../../../storage/objects.ts";
import type { AdmissionRequest } from "../../admission-request.ts";
import type { AdmissionPlugin } from "../../plugin.ts";
import { refuse } from "../../refuse.ts";
import { oldObject, writtenObject } from "../../requests.ts";
import type { PodTemplate } from "./check.ts";
import { type PodSecurityConfiguration, readPodSecurityConfiguration } from "./configuration.ts";
import { violationsOf, violationsText } from "./evaluate.ts";
import {
  isStricter,
  type LevelVersion,
  levelText,
  type PodSecurityPolicy,
  policyOf,
  sameLevel,
} from "./policy.ts";

const AUDIT_PREFIX = "pod-security.kubernetes.io/";
const ENFORCED = `${AUDIT_PREFIX}enforce-policy`;
/** A change of a namespace's level looks at so many of its pods. */
const PODS_CHECKED_MAX = 3000;
const IGNORED_SUBRESOURCES = new Set(
  "exec attach binding eviction log portforward proxy status".split(" "),
);
const TEMPLATED = new Set([
  "/podtemplates",
  "/replicationcontrollers",
  "apps/daemonsets",
  "apps/deployments",
  "apps/replicasets",
  "apps/statefulsets",
  "batch/cronjobs",
  "batch/jobs",
]);

export function podSecurity(configuration?: unknown): AdmissionPlugin {
  const config = readPodSecurityConfiguration(configuration);
  return {
    name: "PodSecurity",
    operations: ["CREATE", "UPDATE"],
    validate(request, { objects }) {
      const { operation, kind } = request;
      if (operation !== "CREATE" && operation !== "UPDATE") return;
      const resource = `${kind.group}/${kind.names.plural}`;
      if (resource === "/namespaces") return checkNamespace(request, objects, config);
      if (resource === "/pods") return checkPod(request, objects, config);
      return TEMPLATED.has(resource) ? checkController(request, objects, config) : undefined;
    },
  };
}

function checkNamespace(
  request: AdmissionRequest,
  objects: Objects,
  { defaults, exemptions }: PodSecurityConfiguration,
): Status | undefined {
  if (request.subresource !== "") return undefined;
  const { metadata } = writtenObject(request, namespaceKind);
  const { policy, faults } = policyOf(metadata.labels, defaults);
  const before = request.old && policyOf(request.old.metadata.labels, defaults);
  const known = before !== undefined && formatAll(before.faults) === formatAll(faults);
  if (faults.length > 0 && !known) {
    return invalidStatus({ group: "", kind: "Namespace" }, metadata.name ?? "", faults);
  }
  if (before === undefined) return undefined;
  const [next, old] = [policy.enforce, before.policy.enforce];
  const relaxed = next.version === old.version && !isStricter(next.level, old.level);
  if (next.level === "privileged" || sameLevel(next, old) || relaxed) return undefined;
  if (exemptions.namespaces.includes(metadata.name ?? "")) return undefined;
  for (const warning of podWarnings(metadata.name ?? "", next, objects)) request.warn(warning);
  return undefined;
}

function formatAll(faults: ReturnType<typeof policyOf>["faults"]): string {
  return faults.length === 0 ? "" : formatFieldErrors(faults);
}

/** Which pods the namespace has already would not be let in any more. */
function podWarnings(namespace: string, level: LevelVersion, objects: Objects): string[] {
  const pods = [...objects.list(podKind, namespace)];
  const checked = onePerController(pods).slice(0, PODS_CHECKED_MAX);
  const byReason = new Map<string, string[]>();
  for (const pod of checked) {
    const violations = violationsOf(pod, level);
    if (violations.length === 0) continue;
    const reason = violations.map((one) => one.reason).join(", ");
    byReason.set(reason, [...(byReason.get(reason) ?? []), pod.metadata.name!]);
  }
  const details = [...byReason].map(([reason, names]) => {
    const [first = "", ...others] = names.sort();
    const count = others.length;
    const more = count === 0 ? "" : ` (and ${count} other ${count === 1 ? "pod" : "pods"})`;
    return `${first}${more}: ${reason}`;
  });
  const skipped =
    checked.length < pods.length
      ? [
          `new PodSecurity enforce level only checked against the first ${checked.length} of ` +
            `${pods.length} existing pods`,
        ]
      : [];
  if (details.length === 0) return skipped;
  const head =
    `existing pods in namespace ${goQuote(namespace)} violate the new PodSecurity enforce level ` +
    goQuote(levelText(level));
  return [...skipped, head, ...details.sort()];
}

/** Pods of one controller are alike: the first of each counts more than the rest. */
function onePerController(pods: readonly Pod[]): Pod[] {
  const seen = new Set<string>();
  const first: Pod[] = [];
  const alike: Pod[] = [];
  for (const pod of pods) {
    const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid;
    (owner !== undefined && seen.has(owner) ? alike : first).push(pod);
    if (owner !== undefined) seen.add(owner);
  }
  return [...first, ...alike];
}

function checkPod(
  request: AdmissionRequest,
  objects: Objects,
  config: PodSecurityConfiguration,
): Status | undefined {
  if (IGNORED_SUBRESOURCES.has(request.subresource) || isExempt(request, config)) return undefined;
  const namespace = objects.get(namespaceKind, "", request.namespace);
  if (namespace === undefined) {
    return internalErrorStatus(`failed to lookup namespace ${goQuote(request.namespace)}`);
  }
  const { policy, faults } = policyOf(namespace.metadata.labels, config.defaults);
  if (faults.length === 0 && isOpen(policy)) {
    request.annotate?.(ENFORCED, "privileged:latest");
    return undefined;
  }
  const pod = writtenObject(request, podKind);
  if (request.operation === "UPDATE" && !imagesChange(pod, oldObject(request, podKind)))
    return undefined;
  if (isExemptClass(request, config, pod)) return undefined;
  noteFaults(request, faults);
  request.annotate?.(ENFORCED, levelText(policy.enforce));
  const violations = violationsOf(pod, policy.enforce);
  if (violations.length > 0) noteAudit(request, policy, pod);
  else report(request, policy, pod);
  if (violations.length === 0) return undefined;
  const level = goQuote(levelText(policy.enforce));
  return refuse(request, `violates PodSecurity ${level}: ${violationsText(violations)}`);
}

function isExempt(request: AdmissionRequest, { exemptions }: PodSecurityConfiguration): boolean {
  const byNamespace = exemptions.namespaces.includes(request.namespace);
  const byUser = exemptions.usernames.includes(request.user.name);
  if (byNamespace || byUser) {
    request.annotate?.(`${AUDIT_PREFIX}exempt`, byNamespace ? "namespace" : "user");
  }
  return byNamespace || byUser;
}

function isExemptClass(
  request: AdmissionRequest,
  { exemptions }: PodSecurityConfiguration,
  { spec }: PodTemplate,
): boolean {
  const exempt = exemptions.runtimeClasses.includes(spec?.runtimeClassName ?? "");
  if (exempt) request.annotate?.(`${AUDIT_PREFIX}exempt`, "runtimeClass");
  return exempt;
}

/** Workload controllers are only warned about and audited: enforcement is on their pods. */
function checkController(
  request: AdmissionRequest,
  objects: Objects,
  config: PodSecurityConfiguration,
): undefined {
  if (request.subresource !== "" || isExempt(request, config)) return;
  const labels = objects.get(namespaceKind, "", request.namespace)?.metadata.labels;
  const { policy, faults } = policyOf(labels, config.defaults);
  const silent = policy.warn.level === "privileged" && policy.audit.level === "privileged";
  if (faults.length === 0 && silent) return;
  const template = templateOf(request);
  if (template === undefined || isExemptClass(request, config, template)) return;
  noteFaults(request, faults);
  report(request, policy, template);
}

function templateOf({ kind, object }: AdmissionRequest): PodTemplate | undefined {
  const plain = object as unknown;
  if (kind.names.plural === "podtemplates") return (plain as { template: PodTemplate }).template;
  if (kind.names.plural === "cronjobs") {
    return (plain as CronJob).spec.jobTemplate.spec.template as PodTemplate;
  }
  return (plain as { spec: { template?: PodTemplate } }).spec.template;
}

function report(request: AdmissionRequest, policy: PodSecurityPolicy, pod: PodTemplate): void {
  noteAudit(request, policy, pod);
  const violations = violationsOf(pod, policy.warn);
  if (violations.length === 0) return;
  const level = goQuote(levelText(policy.warn));
  request.warn(`would violate PodSecurity ${level}: ${violationsText(violations)}`);
}

function noteAudit(request: AdmissionRequest, policy: PodSecurityPolicy, pod: PodTemplate): void {
  const violations = violationsOf(pod, policy.audit);
  if (violations.length === 0) return;
  const level = goQuote(levelText(policy.audit));
  const text = `would violate PodSecurity ${level}: ${violationsText(violations)}`;
  request.annotate?.(`${AUDIT_PREFIX}audit-violations`, text);
}

function noteFaults(
  request: AdmissionRequest,
  faults: ReturnType<typeof policyOf>["faults"],
): void {
  if (faults.length === 0) return;
  request.annotate?.(`${AUDIT_PREFIX}error`, `Failed to parse policy: ${formatAll(faults)}`);
}

function isOpen({ enforce, audit, warn }: PodSecurityPolicy): boolean {
  return [enforce, audit, warn].every(({ level }) => level === "privileged");
}

/** Only a new image or a new container can bring something that was not judged before. */
function imagesChange({ spec }: Pod, { spec: old }: Pod): boolean {
  const images = (containers: readonly { image?: string }[] | null | undefined): string =>
    JSON.stringify((containers ?? []).map(({ image }) => image ?? ""));
  const ephemeral = new Map((old.ephemeralContainers ?? []).map((one) => [one.name, one.image]));
  return (
    images(spec.containers) !== images(old.containers) ||
    images(spec.initContainers) !== images(old.initContainers) ||
    (spec.ephemeralContainers ?? []).some(({ name, image }) => ephemeral.get(name) !== image)
  );
}
