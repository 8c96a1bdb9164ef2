/** What a pod spec means where it says nothing. */
import { isEmptyCollection, markEmptyCollection } from "#api/codec/empty-collections.ts";
import type {
  Container,
  EphemeralContainer,
  LifecycleHandler,
  Pod,
  PodSpec,
  PodTemplateSpec,
  Probe,
  ProbeHandler,
  ResourceRequirements,
} from "#api/generated/core.v1.ts";
import type { ObjectMeta } from "#api/generated/meta.v1.ts";
import type { Draft } from "#api/kind.ts";
import { sumOverContainers } from "#api/kinds/core/v1/resources/resource-lists.ts";
import {
  isHugePages,
  isOvercommitAllowed,
  isPodLevelResource,
} from "#api/kinds/core/v1/resources/resource-names.ts";
import { roundToMillis } from "#api/kinds/core/v1/resources/round-resources.ts";
import { defaultPullPolicy } from "./containers/image-tag.ts";
import { defaultVolume } from "./volumes/volume-defaults.ts";

const GRACE_SECONDS = 30;

export function defaultPod(pod: Draft<Pod>): void {
  const { spec } = pod;
  dropOldAnnotations(pod.metadata);
  for (const { resources } of spec.containers ?? []) defaultRequestsToLimits(resources);
  for (const { resources } of spec.initContainers ?? []) defaultRequestsToLimits(resources);
  if (spec.resources !== undefined) {
    defaultHugePagesLimits(spec, spec.resources);
    defaultPodRequests(spec, spec.resources);
  }
  spec.enableServiceLinks ??= true;
  if (spec.hostNetwork) defaultHostPorts(spec);
  defaultPodSpec(spec);
  if (spec.terminationGracePeriodSeconds! < 0) spec.terminationGracePeriodSeconds = 1;
  defaultStatus(pod);
}

export function defaultPodTemplate(template: Draft<PodTemplateSpec>): void {
  if (template.metadata !== undefined) dropOldAnnotations(template.metadata);
  defaultPodSpec(template.spec);
}

/** An old name of the field is still read, and always written beside the new one. */
export function defaultServiceAccount(spec: Draft<PodSpec>): void {
  const name = spec.serviceAccountName || spec.serviceAccount;
  if (!name) return;
  spec.serviceAccountName = name;
  spec.serviceAccount = name;
}

function defaultPodSpec(spec: Draft<PodSpec>): void {
  spec.dnsPolicy ||= "ClusterFirst";
  spec.restartPolicy ||= "Always";
  spec.securityContext ??= {};
  spec.terminationGracePeriodSeconds ??= GRACE_SECONDS;
  spec.schedulerName ||= "default-scheduler";
  defaultServiceAccount(spec);
  for (const volume of spec.volumes ?? []) defaultVolume(volume);
  for (const container of spec.initContainers ?? []) defaultContainer(container);
  for (const container of spec.containers ?? []) defaultContainer(container);
  for (const container of spec.ephemeralContainers ?? []) defaultContainer(container);
  roundToMillis(spec.overhead);
  if (spec.resources !== undefined) roundRequirements(spec.resources);
}

function defaultContainer(container: Draft<Container> | Draft<EphemeralContainer>): void {
  container.imagePullPolicy ||= defaultPullPolicy(container.image ?? "");
  container.terminationMessagePath ||= "/dev/termination-log";
  container.terminationMessagePolicy ||= "File";
  for (const port of container.ports ?? []) port.protocol ||= "TCP";
  for (const { valueFrom } of container.env ?? []) {
    if (valueFrom?.fieldRef !== undefined) valueFrom.fieldRef.apiVersion ||= "v1";
    if (valueFrom?.fileKeyRef !== undefined) valueFrom.fileKeyRef.optional ??= false;
  }
  roundRequirements(container.resources);
  defaultProbe(container.livenessProbe);
  defaultProbe(container.readinessProbe);
  defaultProbe(container.startupProbe);
  defaultHandler(container.lifecycle?.postStart);
  defaultHandler(container.lifecycle?.preStop);
}

function defaultProbe(probe: Draft<Probe> | undefined): void {
  if (probe === undefined) return;
  probe.timeoutSeconds ||= 1;
  probe.periodSeconds ||= 10;
  probe.successThreshold ||= 1;
  probe.failureThreshold ||= 3;
  defaultHandler(probe);
  if (probe.grpc !== undefined) probe.grpc.service ??= "";
}

function defaultHandler(handler: Draft<ProbeHandler> | Draft<LifecycleHandler> | undefined): void {
  const get = handler?.httpGet;
  if (get === undefined) return;
  get.path ||= "/";
  get.scheme ||= "HTTP";
}

function roundRequirements(resources: Draft<ResourceRequirements>): void {
  roundToMillis(resources.limits);
  roundToMillis(resources.requests);
}

/** Only for pods: what a template leaves open may be filled in when its pods are made. */
function defaultRequestsToLimits(resources: Draft<ResourceRequirements>): void {
  if (resources.limits !== undefined) {
    resources.requests = { ...resources.limits, ...resources.requests };
  } else if (isEmptyCollection(resources, "limits") && resources.requests === undefined) {
    markEmptyCollection(resources, "requests");
  }
}

function defaultHugePagesLimits(
  spec: Draft<PodSpec>,
  resources: Draft<ResourceRequirements>,
): void {
  const { limits = {}, requests = {} } = resources;
  if (Object.keys(limits).length === 0 && Object.keys(requests).length === 0) return;
  const total = sumOverContainers(spec, (container) => container.resources.limits);
  for (const [name, amount] of Object.entries(total)) {
    if (!isHugePages(name) || Object.hasOwn(requests, name) || Object.hasOwn(limits, name))
      continue;
    limits[name] = amount;
  }
  if (Object.keys(limits).length > 0) resources.limits = limits;
}

/** From what the containers request, else from the pod's own limit. */
function defaultPodRequests(spec: Draft<PodSpec>, resources: Draft<ResourceRequirements>): void {
  const { limits = {}, requests = {} } = resources;
  if (Object.keys(limits).length === 0) return;
  const total = sumOverContainers(spec, (container) => container.resources.requests);
  for (const [name, amount] of Object.entries(total)) {
    if (isPodLevelResource(name) && isOvercommitAllowed(name)) requests[name] ??= amount;
  }
  for (const [name, amount] of Object.entries(limits)) {
    if (isPodLevelResource(name)) requests[name] ??= amount;
  }
  if (Object.keys(requests).length > 0) resources.requests = requests;
}

function defaultHostPorts(spec: Draft<PodSpec>): void {
  for (const { ports } of [...(spec.containers ?? []), ...(spec.initContainers ?? [])]) {
    for (const port of ports ?? []) port.hostPort ||= port.containerPort;
  }
}

/** The single address is that of the list; where both are given and differ, the single one counts. */
function defaultStatus({ status }: Draft<Pod>): void {
  if (status === undefined) return;
  const { podIP = "", podIPs = [] } = status;
  if (podIP !== "" && podIP !== podIPs[0]?.ip) status.podIPs = [{ ip: podIP }];
  else if (podIPs[0] !== undefined) status.podIP = podIPs[0].ip;
  for (const list of [
    status.initContainerStatuses,
    status.containerStatuses,
    status.ephemeralContainerStatuses,
  ]) {
    for (const container of list ?? []) {
      roundToMillis(container.allocatedResources);
      if (container.resources !== undefined) roundRequirements(container.resources);
    }
  }
  roundToMillis(status.allocatedResources);
  if (status.resources !== undefined) roundRequirements(status.resources);
}

/** Left behind by servers that kept init containers in annotations. */
const OLD_ANNOTATIONS = [
  "pod.beta.kubernetes.io/init-containers",
  "pod.alpha.kubernetes.io/init-containers",
  "pod.beta.kubernetes.io/init-container-statuses",
  "pod.alpha.kubernetes.io/init-container-statuses",
];

function dropOldAnnotations(meta: Draft<ObjectMeta>): void {
  if (meta.annotations === undefined) return;
  for (const key of OLD_ANNOTATIONS) {
    if (Object.hasOwn(meta.annotations, key)) delete meta.annotations[key];
  }
}
