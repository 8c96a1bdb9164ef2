/** What can be done with an object: one request each, which can be tried first with dryRun=All. Pure. */
import type { KubeObject } from "./kube-object.ts";
import { collectionPath, objectPath, type Resource } from "./resources.ts";

export interface Action {
  readonly title: string;
  /** What it does, in a sentence. */
  readonly effect: string;
  readonly isDangerous: boolean;
  readonly method: "PATCH" | "POST" | "DELETE";
  readonly path: string;
  readonly contentType?: string;
  readonly body?: unknown;
  /** Whether the dry run returns the object as it would be, so that a difference can be shown. */
  readonly showsDifference: boolean;
}

const MERGE = "application/merge-patch+json";
const STRATEGIC = "application/strategic-merge-patch+json";

export function actionsFor(
  resource: Resource,
  object: KubeObject,
  nowMs: number,
): readonly Action[] {
  const { namespace = "", name } = object.metadata;
  const path = objectPath(resource, namespace, name);
  const id = `${resource.group}/${resource.plural}`;
  const patch = (title: string, effect: string, body: unknown, contentType = MERGE): Action => {
    const fixed = { isDangerous: false, method: "PATCH", showsDifference: true } as const;
    return { title, effect, path, contentType, body, ...fixed };
  };
  const actions: Action[] = [];
  if (["apps/deployments", "apps/statefulsets", "apps/daemonsets"].includes(id)) {
    const annotations = { "kubectl.kubernetes.io/restartedAt": new Date(nowMs).toISOString() };
    const body = { spec: { template: { metadata: { annotations } } } };
    const effect = "Changes an annotation of the pod template: all pods are replaced step by step.";
    actions.push(patch("Restart", effect, body, STRATEGIC));
  }
  if (id === "apps/deployments") {
    const paused = object.spec?.paused === true;
    const effect = paused
      ? "Lets the rollout go on."
      : "Changes of the pod template have no effect.";
    actions.push(
      patch(paused ? "Resume" : "Pause", effect, { spec: { paused: paused ? null : true } }),
    );
  }
  if (id === "/nodes") {
    const cordoned = object.spec?.unschedulable === true;
    const effect = cordoned
      ? "The scheduler places pods on the node again."
      : "The scheduler places no more pods on the node; those that run stay.";
    const body = { spec: { unschedulable: cordoned ? null : true } };
    actions.push(patch(cordoned ? "Uncordon" : "Cordon", effect, body));
  }
  if (id === "batch/cronjobs") {
    const suspended = object.spec?.suspend === true;
    const effect = suspended ? "Jobs are created on schedule again." : "No more Jobs are created.";
    const body = { spec: { suspend: !suspended } };
    actions.push(triggerAction(object, namespace, nowMs));
    actions.push(patch(suspended ? "Resume" : "Suspend", effect, body));
  }
  if (id === "/pods") actions.push(evictAction(path, namespace, name));
  if (resource.verbs.includes("delete")) actions.push(deleteAction(path, object));
  return actions;
}

export function scaleAction(resource: Resource, object: KubeObject, replicas: number): Action {
  const { namespace = "", name } = object.metadata;
  return {
    title: `Scale to ${replicas}`,
    effect: `Changes the number of replicas to ${replicas}.`,
    isDangerous: replicas === 0,
    method: "PATCH",
    path: `${objectPath(resource, namespace, name)}/scale`,
    contentType: MERGE,
    body: { spec: { replicas } },
    showsDifference: false,
  };
}

export function withDryRun(path: string): string {
  return `${path}${path.includes("?") ? "&" : "?"}dryRun=All`;
}

interface JobTemplate {
  readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec?: unknown;
}

function triggerAction(object: KubeObject, namespace: string, nowMs: number): Action {
  const { name, uid } = object.metadata;
  const { metadata = {}, spec } = (object.spec?.jobTemplate ?? {}) as JobTemplate;
  const owner = { apiVersion: "batch/v1", kind: "CronJob", name, uid, controller: true };
  return {
    title: "Trigger",
    effect: "Creates a Job from the template now, as `kubectl create job --from` does.",
    isDangerous: false,
    method: "POST",
    path: collectionPath({ group: "batch", version: "v1", plural: "jobs" }, namespace),
    body: {
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: {
        ...metadata,
        name: `${name.slice(0, 42)}-${Math.floor(nowMs / 1000)}`,
        annotations: { ...metadata.annotations, "cronjob.kubernetes.io/instantiate": "manual" },
        ownerReferences: [owner],
      },
      spec,
    },
    showsDifference: false,
  };
}

function evictAction(path: string, namespace: string, name: string): Action {
  return {
    title: "Evict",
    effect: "Deletes the pod if its PodDisruptionBudgets allow it.",
    isDangerous: true,
    method: "POST",
    path: `${path}/eviction`,
    body: { apiVersion: "policy/v1", kind: "Eviction", metadata: { name, namespace } },
    showsDifference: false,
  };
}

function deleteAction(path: string, { kind, metadata }: KubeObject): Action {
  return {
    title: "Delete",
    effect: `Deletes ${kind} ${metadata.name}. What it owns is deleted by the garbage collector.`,
    isDangerous: true,
    method: "DELETE",
    path,
    body: {
      apiVersion: "v1",
      kind: "DeleteOptions",
      propagationPolicy: "Background",
      preconditions: { uid: metadata.uid },
    },
    showsDifference: false,
  };
}
