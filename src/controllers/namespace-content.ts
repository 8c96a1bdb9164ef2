/**
 * Lists everything in a namespace. A resource that is slow to answer, such as one of an aggregated API
 * server that hangs, is not waited for while the other answers give the namespace controller work.
 */
import type { KubeObject } from "#api/kind.ts";
import { onAbort, signalForMany } from "#lib/async/aborted.ts";
import type { Moment, Reader, Resource } from "#runtime/controller.ts";
import { discoverResources } from "#runtime/discovery.ts";

const SLOW_LIST_MS = 1_000;

export interface Content {
  readonly resource: Resource;
  readonly objects: readonly KubeObject[];
}

export interface NamespaceContent {
  readonly content: readonly Content[];
  /** Groups whose resources could not be found out, with the reason. */
  readonly undiscovered: readonly string[];
  /** Resources that could not be listed, with the reason. */
  readonly unlisted: readonly string[];
}

export async function listNamespaceContent(
  namespace: string,
  reader: Reader,
  moment: Moment,
): Promise<NamespaceContent> {
  const { resources, failures } = await discoverResources(reader);
  const wanted = resources.filter(
    ({ scope, verbs }) =>
      scope === "Namespaced" && verbs.includes("list") && verbs.includes("delete"),
  );
  const listing = new AbortController();
  const signal = signalForMany(listing.signal);
  const stop = (): void => listing.abort(moment.signal.reason);
  onAbort(moment.signal, stop);
  const content: Content[] = [];
  const unlisted: string[] = [];
  const pending = new Map<Resource, Promise<void>>();
  for (const resource of wanted) {
    const listed = reader.list(resource, { namespace }, signal).then((list) => {
      pending.delete(resource);
      if (list.ok) {
        if (list.value.items.length > 0) content.push({ resource, objects: list.value.items });
      } else if (list.status.code !== 404 && list.status.code !== 405) {
        unlisted.push(list.status.message ?? "");
      }
    });
    pending.set(resource, listed);
  }
  try {
    const all = Promise.all(pending.values());
    await Promise.race([all, moment.sleep(SLOW_LIST_MS, signal)]);
    while (pending.size > 0 && !canProceed(content, [...pending.keys()])) {
      await Promise.race(pending.values());
    }
    const late = [...pending.keys()].map(unansweredText);
    return { content, undiscovered: failures, unlisted: [...unlisted, ...late] };
  } finally {
    moment.signal.removeEventListener("abort", stop);
    stop();
  }
}

export function isPods({ group, names }: Resource): boolean {
  return group === "" && names.plural === "pods";
}

export function isDeletable({ objects }: Content): boolean {
  return objects.some(({ metadata }) => metadata.deletionTimestamp === undefined);
}

/**
 * Whether the controller can go on without the lists that are pending. Pods must be known, because they
 * are deleted first. While there are pods, nothing else is deleted, so that no other list matters. When
 * all that is known is being deleted already, only the pending lists can give more work.
 */
function canProceed(content: readonly Content[], pending: readonly Resource[]): boolean {
  if (pending.some(isPods)) return false;
  return content.some((one) => isPods(one.resource) || isDeletable(one));
}

function unansweredText({ group, names }: Resource): string {
  const resource = group === "" ? names.plural : `${names.plural}.${group}`;
  return (
    "the server was unable to return a response in the time allotted, " +
    `but may still be processing the request (get ${resource})` // upstream's words
  );
}
