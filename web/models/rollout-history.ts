/** The revisions of a Deployment, StatefulSet or DaemonSet, newest first, and how to go back to one. Pure. */
import type { Action } from "./actions.ts";
import type { KubeObject } from "./kube-object.ts";
import { objectPath, type Resource } from "./resources.ts";

export interface Revision {
  readonly revision: number;
  readonly createdAt: string | undefined;
  readonly cause: string;
  readonly images: readonly string[];
  readonly isCurrent: boolean;
  /** The request that goes back to it. */
  readonly undo: Action;
}

const REVISION = "deployment.kubernetes.io/revision";
const CAUSE = "kubernetes.io/change-cause";
const HASH = "pod-template-hash";
const STRATEGIC = "application/strategic-merge-patch+json";
const JSON_PATCH = "application/json-patch+json";

/** The collection whose objects keep the revisions; undefined for kinds without any. */
export function revisionSource({
  group,
  plural,
}: Pick<Resource, "group" | "plural">): "replicasets" | "controllerrevisions" | undefined {
  if (group !== "apps") return undefined;
  if (plural === "deployments") return "replicasets";
  return plural === "statefulsets" || plural === "daemonsets" ? "controllerrevisions" : undefined;
}

export function rolloutHistory(
  resource: Resource,
  object: KubeObject,
  sources: readonly KubeObject[],
): readonly Revision[] {
  const own = sources.filter(({ metadata }) =>
    metadata.ownerReferences?.some(
      ({ uid, controller }) => controller && uid === object.metadata.uid,
    ),
  );
  const path = objectPath(resource, object.metadata.namespace ?? "", object.metadata.name);
  const found = own.flatMap((source) => {
    const revision = revisionOf(source);
    const template = templateOf(source);
    return revision === undefined || template === undefined ? [] : [{ source, revision, template }];
  });
  const newest = Math.max(0, ...found.map(({ revision }) => revision));
  return found
    .toSorted((a, b) => b.revision - a.revision)
    .map(({ source, revision, template }) => ({
      revision,
      createdAt: source.metadata.creationTimestamp,
      cause: source.metadata.annotations?.[CAUSE] ?? "",
      images: imagesOf(template),
      isCurrent: revision === newest,
      undo: undoAction(path, revision, source, template),
    }));
}

interface Template {
  readonly metadata?: { readonly labels?: Readonly<Record<string, string>> };
  readonly spec?: { readonly containers?: readonly { readonly image?: string }[] };
}

/** A ControllerRevision has it as a field, a ReplicaSet as an annotation. */
function revisionOf(source: KubeObject): number | undefined {
  const own = (source as { readonly revision?: unknown }).revision;
  const revision = Number(own ?? source.metadata.annotations?.[REVISION]);
  return Number.isInteger(revision) && revision > 0 ? revision : undefined;
}

function templateOf(source: KubeObject): Template | undefined {
  const { data } = source as {
    readonly data?: { readonly spec?: { readonly template?: Template } };
  };
  const template = data?.spec?.template ?? source.spec?.template;
  return typeof template === "object" && template !== null ? (template as Template) : undefined;
}

function imagesOf({ spec }: Template): readonly string[] {
  return (spec?.containers ?? []).map(({ image = "" }) => image);
}

function undoAction(
  path: string,
  revision: number,
  source: KubeObject,
  template: Template,
): Action {
  const fixed: Action = {
    title: `Undo to revision ${revision}`,
    effect: `The pod template becomes that of revision ${revision} again: pods are replaced step by step.`,
    isDangerous: false,
    method: "PATCH",
    path,
    showsDifference: true,
  };
  const { data } = source as { readonly data?: unknown };
  // A ControllerRevision holds the patch itself.
  if (data !== undefined) return { ...fixed, contentType: STRATEGIC, body: data };
  const { [HASH]: _, ...labels } = template.metadata?.labels ?? {};
  const value = { ...template, metadata: { ...template.metadata, labels } };
  const body = [{ op: "replace", path: "/spec/template", value }];
  return { ...fixed, contentType: JSON_PATCH, body };
}
