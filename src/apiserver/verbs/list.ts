/**
 * GET of a collection. Which state it shows:
 *
 *   resourceVersion   match            state
 *   ""                                 the newest in the store
 *   "0"               (NotOlderThan)   whatever the cache has, all of it: a limit does not count
 *   n                 (NotOlderThan)   at least n
 *   n                 Exact            exactly n; also n with a limit and no match
 *   continue token                     exactly as on the first page
 */
import {
  badRequestStatus,
  expiredStatus,
  failure,
  type Result,
  success,
} from "#api/meta/status.ts";
import type { Steps } from "#lib/async/steps.ts";
import { WorkPace } from "#lib/async/work-pace.ts";
import { StoreError } from "#store/contract.ts";
import { type ContinuePoint, decodeContinue, encodeContinue } from "../request/continue-token.ts";
import { type ListOptions, listOptions } from "../request/query-options.ts";
import { type Selection, select } from "../request/selection.ts";
import type { VerbRequest, VerbResult } from "../request/verb.ts";
import type { ObjectList } from "../response/answer.ts";
import { remoteConversionTo, revisionsAs } from "../storage/convert.ts";
import type { Revision } from "../storage/revision.ts";
import { statusOfStoreError } from "../storage/store-failures.ts";
import { CacheState } from "../watch/cache-state.ts";
import type { ResourceCache } from "../watch/resource-cache.ts";
import { parseListVersion } from "./get.ts";

export async function list(verb: VerbRequest): Promise<VerbResult> {
  const { resource, info, request } = verb;
  const given = listOptions(request.query);
  if (!given.ok) return given;
  const wholeCache = given.value.resourceVersion === "0" && given.value.continueToken === "";
  const options = wholeCache ? { ...given.value, limit: 0 } : given.value;
  const selection = select(resource, info.namespace, options);
  if (!selection.ok) return selection;
  const listed = await listSelected(verb, selection.value, options);
  if (!listed.ok) return listed;
  return success({ code: 200, body: { form: "list", list: listed.value } });
}

export async function listSelected(
  verb: VerbRequest,
  selection: Selection,
  options: ListOptions,
): Promise<Result<ObjectList>> {
  const point = await listingPoint(verb, selection, options);
  if (!point.ok) return point;
  const objects = verb.parts.objects.storeOf(verb.resource.stored);
  const unreadable = await objects.whyUnreadable(verb.resource.stored, selection.prefix);
  if (unreadable !== undefined) return failure(unreadable);
  const page = await readServedPage(verb, selection, options, point.value);
  if (!page.ok) return page;
  const { items, next, remaining, revision, state } = page.value;
  const limited = options.limit > 0;
  const more = limited && next !== undefined;
  if (more) objects.promisedPage(revision);
  return success({
    kind: verb.resource.kind,
    items,
    resourceVersion: String(revision),
    continueToken: more
      ? encodeContinue(selection.prefix, { startAfter: next, revision })
      : undefined,
    remaining: more && selection.matches === undefined ? remaining : undefined,
    place: selection.prefix,
    state,
    query: verb.request.query,
  });
}

interface ListingPoint {
  /** Undefined: what the cache shows. */
  readonly revision: number | undefined;
  readonly startAfter: string | undefined;
}

async function listingPoint(
  verb: VerbRequest,
  selection: Selection,
  options: ListOptions,
): Promise<Result<ListingPoint>> {
  const objects = verb.parts.objects.storeOf(verb.resource.stored);
  const { resourceVersion, resourceVersionMatch, continueToken, limit } = options;
  if (continueToken !== "") {
    const decoded = decodeContinue(selection.prefix, continueToken);
    if (!decoded.ok) return decoded;
    if (resourceVersion !== "" && resourceVersion !== "0") {
      const message = "specifying resource version is not allowed when using continue";
      return failure(badRequestStatus(message));
    }
    const { startAfter, revision } = decoded.value;
    // A revision from the future would otherwise show the current state and change under the client.
    const reached = revision === undefined ? undefined : await objects.notOlderThan(revision);
    if (reached?.ok === false) return reached;
    return success({ startAfter, revision });
  }
  if (resourceVersion === "") {
    const fresh = await objects.fresh();
    return fresh.ok ? success({ revision: undefined, startAfter: undefined }) : fresh;
  }
  const asked = parseListVersion(resourceVersion);
  if (!asked.ok) return asked;
  const reached = await objects.notOlderThan(asked.value);
  if (!reached.ok) return reached;
  const exact =
    resourceVersionMatch === "Exact" ||
    (resourceVersionMatch === "" && limit > 0 && asked.value > 0);
  return success({ revision: exact ? asked.value : undefined, startAfter: undefined });
}

interface Page {
  readonly items: readonly Revision[];
  /** The last key looked at, if others follow it. */
  readonly next: string | undefined;
  readonly remaining: number;
  readonly revision: number;
  readonly state?: string | undefined;
}

type UnnumberedPage = Omit<Page, "revision">;

/** To be compared with a selector an object may have to be parsed, and a selector may have thousands of parts. */
const STEP_OBJECTS = 4;
/** With a selector few of them may match. */
const HISTORY_OBJECTS = 5_000;

/** A page in the version of the request. */
async function readServedPage(
  verb: VerbRequest,
  selection: Selection,
  options: ListOptions,
  point: ListingPoint,
): Promise<Result<Page>> {
  const { kind } = verb.resource;
  const { matches } = selection;
  // A webhook must have converted an object before it can be compared with field selectors.
  const late = matches !== undefined && remoteConversionTo(kind) !== undefined;
  const page = late
    ? await readPage(verb, { ...selection, matches: undefined }, { ...options, limit: 0 }, point)
    : await readPage(verb, selection, options, point);
  if (!page.ok) return page;
  const converted = revisionsAs(kind, page.value.items);
  const items = converted instanceof Promise ? await converted : converted;
  if (!items.ok) return items;
  if (!late) return success({ ...page.value, items: items.value });
  const matching = items.value.filter(matches);
  const { limit } = options;
  if (limit === 0 || matching.length <= limit) return success({ ...page.value, items: matching });
  const shown = matching.slice(0, limit);
  return success({ ...page.value, items: shown, next: shown.at(-1)!.key });
}

async function readPage(
  verb: VerbRequest,
  selection: Selection,
  options: ListOptions,
  { revision, startAfter }: ListingPoint,
): Promise<Result<Page>> {
  const objects = verb.parts.objects.storeOf(verb.resource.stored);
  const cache = objects.cacheOf(verb.resource.stored);
  const pace = new WorkPace(verb.parts.clock);
  const { limit } = options;
  if (cache.hasRaw) await cache.normalize(pace);
  if (revision === undefined) {
    const shown = objects.cache.revision;
    const page = await cachedPage(cache, selection, limit, startAfter, pace);
    return success({ ...page, revision: shown });
  }
  try {
    // A revision ends with its history, even where the cache could still show its state.
    await objects.checkKept(revision);
    // The state at a revision is the current one if nothing has changed since.
    if (revision >= cache.lastChange && objects.cache.current) {
      const page = await cachedPage(cache, selection, limit, startAfter, pace);
      return success({ ...page, revision });
    }
    const state = objects.cache.current ? cache.stateAt(revision) : undefined;
    if (state !== undefined) {
      const page = await pace.run(pageOfState(state, selection, limit, startAfter));
      return success({ ...page, revision });
    }
    const page = await pageOfHistory(verb, selection, limit, { revision, startAfter }, pace);
    return success({ ...page, revision });
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    if (error.problem.code !== "Compacted") return failure(statusOfStoreError(error));
    return failure(
      tooOld(selection, options, { startAfter: startAfter ?? "", revision: undefined }),
    );
  }
}

/** What is shown is the state at the time of the call. */
async function cachedPage(
  cache: ResourceCache,
  selection: Selection,
  limit: number,
  startAfter: string | undefined,
  pace: WorkPace,
): Promise<UnnumberedPage> {
  const { prefix, matches, only } = selection;
  if (only !== undefined && limit === 0) {
    const found = cache.get(only);
    const items = found !== undefined && (matches?.(found) ?? true) ? [found] : [];
    count(cache, 1, items);
    return { items, next: undefined, remaining: 0 };
  }
  if (matches !== undefined) {
    const looked = cache.count(prefix, startAfter);
    const state = new CacheState(cache.fork());
    const page = await pace.run(pageOfState(state, selection, limit, startAfter));
    count(cache, looked, page.items);
    return page;
  }
  const whole = limit === 0 && startAfter === undefined;
  const state = whole ? String(cache.lastChange) : undefined;
  const page = pageOf(cache, prefix, startAfter, limit);
  count(cache, page.items.length, page.items);
  return { ...page, state };
}

function count({ lists }: ResourceCache, looked: number, found: readonly Revision[]): void {
  lists.count += 1;
  lists.looked += looked;
  lists.found += found.length;
}

/** Up to `limit` objects, all if that is 0, and how many follow. */
function pageOf(
  cache: ResourceCache,
  prefix: string,
  after: string | undefined,
  limit: number,
): UnnumberedPage {
  if (limit === 0) return { items: cache.list(prefix, after), next: undefined, remaining: 0 };
  const items = cache.list(prefix, after, limit);
  const last = items.length < limit ? undefined : items.at(-1)!.key;
  const remaining = last === undefined ? 0 : cache.count(prefix, last);
  return { items, next: remaining > 0 ? last : undefined, remaining };
}

/** The same of a state that stays; matching objects may be few among many. */
function* pageOfState(
  state: CacheState,
  { prefix, matches }: Selection,
  limit: number,
  after: string | undefined,
): Steps<UnnumberedPage> {
  const { items, next } = yield* takeMatching(state.under(prefix, after), matches, limit);
  // With a selector the answer does not say how many follow.
  const remaining = next === undefined || matches !== undefined ? 0 : state.count(prefix, next);
  return { items, next, remaining };
}

/** The same from the store's history, of which no more is read than the page needs. */
async function pageOfHistory(
  { parts, resource: { stored } }: VerbRequest,
  { prefix, matches }: Selection,
  limit: number,
  point: { readonly revision: number; readonly startAfter: string | undefined },
  pace: WorkPace,
): Promise<UnnumberedPage> {
  const objects = parts.objects.storeOf(stored);
  const readMax = limit > 0 && matches !== undefined ? Math.max(limit, HISTORY_OBJECTS) : limit;
  const items: Revision[] = [];
  for (let after = point.startAfter; ; ) {
    const read = await objects.history(stored, prefix, point.revision, after, readMax);
    const wanted = limit === 0 ? 0 : limit - items.length;
    const taken = await pace.run(takeMatching(read.revisions, matches, wanted));
    for (const item of taken.items) items.push(item);
    const remaining = read.revisions.length - taken.looked + read.remaining;
    const isFull = limit > 0 && items.length >= limit;
    if (!isFull && read.remaining > 0) after = read.revisions.at(-1)!.key;
    else return { items, next: remaining > 0 ? items.at(-1)?.key : undefined, remaining };
  }
}

interface Taken {
  readonly items: readonly Revision[];
  readonly next: string | undefined;
  readonly looked: number;
}

/** Takes up to `limit` matching objects, all if that is 0. */
function* takeMatching(
  revisions: Iterable<Revision>,
  matches: Selection["matches"],
  limit: number,
): Steps<Taken> {
  const items: Revision[] = [];
  let looked = 0;
  for (const revision of revisions) {
    if (limit > 0 && items.length >= limit) return { items, next: items.at(-1)!.key, looked };
    looked += 1;
    if (looked % STEP_OBJECTS === 0) yield;
    if (matches === undefined || matches(revision)) items.push(revision);
  }
  return { items, next: undefined, looked };
}

function tooOld(selection: Selection, { continueToken }: ListOptions, point: ContinuePoint) {
  if (continueToken === "") {
    return expiredStatus("The resourceVersion for the provided list is too old.");
  }
  const status = expiredStatus(
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.",
  );
  return { ...status, metadata: { continue: encodeContinue(selection.prefix, point) } };
}
