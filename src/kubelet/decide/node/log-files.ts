/**
 * Which rotated files of a container's log are removed and which are compressed before the next
 * rotation: `0.log.20260102-150405` and `0.log.20260102-150405.gz`.
 */

const COMPRESSED = ".gz";
const UNFINISHED = ".tmp";

export interface LogFileActions {
  readonly remove: readonly string[];
  readonly compress: readonly string[];
}

/** `names`: all files that begin with the name of the log and a dot. */
export function decideLogFiles(names: readonly string[], filesMax: number): LogFileActions {
  const all = new Set(names);
  const isUnused = (name: string): boolean =>
    name.endsWith(UNFINISHED) || (!name.endsWith(COMPRESSED) && all.has(`${name}${COMPRESSED}`));
  const used = names.filter((name) => !isUnused(name)).sort();
  // The file that is rotated now and the one that the container writes afterwards count too.
  const surplus = used.slice(0, Math.max(0, used.length - Math.max(0, filesMax - 2)));
  const kept = used.slice(surplus.length);
  return {
    remove: [...names.filter(isUnused), ...surplus],
    compress: kept.filter((name) => !name.endsWith(COMPRESSED)),
  };
}

/** `20260102-150405` */
export function rotationStamp(nowMs: number): string {
  const [date = "", time = ""] = new Date(nowMs).toISOString().slice(0, 19).split("T");
  return `${date.replaceAll("-", "")}-${time.replaceAll(":", "")}`;
}
