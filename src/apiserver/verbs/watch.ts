/** GET of a collection with `watch`: its changes as they happen. */
import { failure, success } from "#api/meta/status.ts";
import { listOptions } from "../request/query-options.ts";
import { select } from "../request/selection.ts";
import type { VerbRequest, VerbResult } from "../request/verb.ts";
import { remoteConversionTo } from "../storage/convert.ts";
import { ConvertedFeed } from "../watch/converted-feed.ts";
import { WatchFeed } from "../watch/watch-feed.ts";
import { parseResourceVersion } from "./get.ts";

export async function watch(verb: VerbRequest): Promise<VerbResult> {
  const { resource, info, request, parts } = verb;
  const options = listOptions(request.query, true);
  if (!options.ok) return options;
  const { resourceVersion, sendInitialEvents, allowWatchBookmarks, timeoutSeconds } = options.value;
  const name = oldStyleName(verb);
  const selection = select(resource, info.namespace, options.value, name);
  if (!selection.ok) return selection;
  const asked = parseResourceVersion(resourceVersion);
  if (!asked.ok) return asked;

  const { clock, random, watchTimeoutMinMs, bookmarkEveryMs } = parts;
  const objects = parts.objects.storeOf(resource.stored);
  if (sendInitialEvents) {
    const ready = await (asked.value === 0 && resourceVersion !== "0"
      ? objects.fresh()
      : objects.notOlderThan(asked.value));
    if (!ready.ok) return ready;
  }
  const unreadable = await objects.whyUnreadable(resource.stored, selection.value.prefix);
  if (unreadable !== undefined) return failure(unreadable);
  const isOver = (timeoutSeconds ?? 0) < 0; // it has ended before it began
  const remote = remoteConversionTo(resource.kind) !== undefined;
  const feed = new WatchFeed({
    cache: objects.cacheOf(resource.stored),
    currentRevision: () => objects.cache.revision,
    kind: remote ? resource.stored.kind : resource.kind,
    prefix: selection.value.prefix,
    matches: remote ? undefined : selection.value.matches,
    trigger: selection.value.trigger,
    from:
      sendInitialEvents === true && !isOver
        ? { point: "state", endMark: true }
        : { point: "after", revision: asked.value || objects.cache.revision },
    bookmarks: allowWatchBookmarks,
    bookmarkEveryMs,
    timeoutMs: timeoutSeconds ? timeoutSeconds * 1000 : watchTimeoutMinMs * (1 + random.next()),
    clock,
  });
  const served = remote ? new ConvertedFeed(feed, resource.kind, selection.value.matches) : feed;
  return success({ code: 200, body: { form: "watch", feed: served } });
}

/** `/api/v1/watch/namespaces/a/pods/b` watches one object. */
function oldStyleName({ info, request }: VerbRequest): string {
  return /^\/apis?\/(?:[^/]+\/){1,2}watch\//.test(request.path) ? info.name : "";
}
