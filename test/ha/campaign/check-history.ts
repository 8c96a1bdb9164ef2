/**
 * Checks a history of the fault campaign. Every write of an object has a revision, and the order of
 * revisions is the order in which the writes took effect: it is the witness of linearizability, so no
 * search is needed. Checked for every object:
 *
 * 1. One revision has one value, in every answer and every watch.
 * 2. Real time: a request that began after another one had ended sees its revision or a later one; a
 *    write gets a later one.
 * 3. An update replaced exactly the revision that it named; a create found nothing.
 * 4. A write that was refused never shows up.
 * 5. Nothing acknowledged is lost: at the end every API server lists the last revision of every object.
 * 6. Watches: from where a watch began to where it ended, every revision of every object once, in order.
 */
import { groupedBy } from "./grouped-by.ts";
import type {
  FinalList,
  HistoryRecord,
  Item,
  Operation,
  WatchBegin,
  WatchEvent,
} from "./history.ts";

/** What an object was from one revision on; undefined: deleted. */
type Versions = Map<number, string | undefined>;

/** Violations, as sentences. */
export function checkHistory(records: readonly HistoryRecord[]): string[] {
  const operations = records.filter((one): one is Operation => one.k === "op");
  const finals = records.filter((one): one is FinalList => one.k === "final");
  const watches = records.filter(
    (one): one is WatchBegin | WatchEvent => one.k === "begin" || one.k === "event",
  );
  const problems: string[] = [];
  const versions = collectVersions(operations, watches, problems);
  for (const [object, own] of groupedBy(operations, ({ object }) => object)) {
    problems.push(...realTime(object, own), ...replaced(object, own, versions.get(object)!));
  }
  problems.push(...refusedWrites(operations, versions));
  for (const final of finals) problems.push(...lostWrites(final, operations, versions));
  const byWatcher = groupedBy(watches, ({ watcher }) => watcher);
  for (const [watcher, own] of byWatcher) problems.push(...watched(watcher, own, versions));
  return problems;
}

function collectVersions(
  operations: readonly Operation[],
  watches: readonly (WatchBegin | WatchEvent)[],
  problems: string[],
): Map<string, Versions> {
  const all = new Map<string, Versions>();
  const add = (object: string, revision: number, value: string | undefined, where: string) => {
    const versions = all.get(object) ?? new Map<number, string | undefined>();
    all.set(object, versions);
    const known = versions.get(revision);
    if (versions.has(revision) && known !== value) {
      problems.push(`${object} at ${revision} is ${known}, and ${value} in ${where}`);
    }
    versions.set(revision, value);
  };
  for (const { object, outcome, revision, value, verb } of operations) {
    if (!all.has(object)) all.set(object, new Map());
    if (outcome === "ok" && revision !== undefined && value !== undefined) {
      add(object, revision, value, `the answer to a ${verb}`);
    }
  }
  for (const one of watches) {
    if (one.k === "begin") {
      for (const [name, revision, value] of one.items) add(name, revision, value, "a list");
    } else {
      const value = one.type === "DELETED" ? undefined : one.value;
      add(one.object, one.revision, value, `watch ${one.watcher}`);
    }
  }
  return all;
}

function realTime(object: string, operations: readonly Operation[]): string[] {
  const done = operations.filter(
    ({ outcome, revision }) => outcome === "ok" && revision !== undefined,
  );
  const byEnd = done.toSorted((a, b) => a.endMs - b.endMs);
  const byStart = done.toSorted((a, b) => a.startMs - b.startMs);
  const problems: string[] = [];
  let ended = 0;
  let newest = 0;
  for (const one of byStart) {
    for (; ended < byEnd.length && byEnd[ended]!.endMs < one.startMs; ended++) {
      newest = Math.max(newest, byEnd[ended]!.revision!);
    }
    const stale = one.verb === "read" ? one.revision! < newest : one.revision! <= newest;
    if (stale) {
      problems.push(
        `${object}: a ${one.verb} through ${one.server} gave revision ${one.revision} after ${newest} was known`,
      );
    }
  }
  return problems;
}

function replaced(object: string, operations: readonly Operation[], versions: Versions): string[] {
  const revisions = [...versions.keys()].sort((a, b) => a - b);
  return operations.flatMap(({ verb, outcome, revision, from }) => {
    if (outcome !== "ok" || verb !== "update" || revision === undefined) return [];
    const before = revisions[revisions.indexOf(revision) - 1];
    if (before === from) return [];
    return [`${object}: ${revision} was to replace ${from} and replaced ${before}`];
  });
}

function refusedWrites(
  operations: readonly Operation[],
  versions: ReadonlyMap<string, Versions>,
): string[] {
  return operations.flatMap(({ verb, outcome, object, value, code }) => {
    if (outcome !== "refused" || verb === "read" || verb === "delete") return [];
    const shown = [...(versions.get(object)?.values() ?? [])].includes(value);
    return shown ? [`${object}: ${value} was refused with ${code} and was written`] : [];
  });
}

function lostWrites(
  { server, items }: FinalList,
  operations: readonly Operation[],
  versions: ReadonlyMap<string, Versions>,
): string[] {
  const listed = new Map(items.map(([name, revision]) => [name, revision]));
  const deletes = new Map<string, Operation["outcome"]>();
  for (const { verb, object, outcome } of operations) {
    if (verb === "delete") deletes.set(object, outcome);
  }
  return [...versions].flatMap(([object, own]) => {
    const written = [...own].filter(([, value]) => value !== undefined);
    const last = Math.max(0, ...written.map(([revision]) => revision));
    const deletion = deletes.get(object);
    const found = listed.get(object);
    if (deletion === "ok" && found !== undefined) return [`${object} is back on ${server}`];
    if (deletion !== undefined && found === undefined) return [];
    if (last === 0 || found === last) return [];
    return [`${object}: ${server} has ${found ?? "nothing"} at the end, ${last} was known`];
  });
}

function watched(
  watcher: string,
  records: readonly (WatchBegin | WatchEvent)[],
  versions: ReadonlyMap<string, Versions>,
): string[] {
  const problems: string[] = [];
  const known = allRevisions(versions);
  let position = 0;
  /** Index in `known` of what has to come next. */
  let next = 0;
  for (const one of records) {
    if (one.k === "begin") {
      if (one.items.length > 0) problems.push(...listedAt(watcher, one, versions));
      position = one.revision;
      next = firstAfter(known, position);
      continue;
    }
    if (one.revision <= position) {
      problems.push(`${watcher}: ${one.object} at ${one.revision} came after ${position}`);
      continue;
    }
    for (; known[next] !== undefined && known[next]! < one.revision; next++) {
      problems.push(`${watcher} missed revision ${known[next]}`);
    }
    next += 1;
    position = one.revision;
  }
  for (; next < known.length; next++) problems.push(`${watcher} missed revision ${known[next]}`);
  return problems;
}

/** A list that a watch begins with is the state at its revision. */
function listedAt(
  watcher: string,
  { revision, items }: WatchBegin,
  versions: ReadonlyMap<string, Versions>,
): string[] {
  const listed = new Map<string, Item>(items.map((item) => [item[0], item]));
  return [...versions].flatMap(([object, own]) => {
    const at = [...own].filter(([one]) => one <= revision).sort(([a], [b]) => b - a)[0];
    const found = listed.get(object);
    const wanted = at?.[1] === undefined ? undefined : at[0];
    if (found?.[1] === wanted) return [];
    return [`${watcher}: the list at ${revision} has ${object} at ${found?.[1]}, not ${wanted}`];
  });
}

function allRevisions(versions: ReadonlyMap<string, Versions>): number[] {
  const all = [...versions.values()].flatMap((own) => [...own.keys()]);
  return [...new Set(all)].sort((a, b) => a - b);
}

function firstAfter(sorted: readonly number[], revision: number): number {
  const at = sorted.findIndex((one) => one > revision);
  return at === -1 ? sorted.length : at;
}
