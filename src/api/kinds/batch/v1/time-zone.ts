/** Names of time zones, as the tz database has them. */
import { zoneOffset } from "#lib/time/zone-offset.ts";

const PART = /^[A-Za-z.\-_0-9+]{1,14}$/;

export function timeZoneFaults(name: string): string[] {
  if (name === "") return ["timeZone must be nil or non-empty string"];
  const unknown = `unknown time zone ${name}`;
  const parts = name.split("/");
  if (
    parts.some((part) => part === "." || part === ".." || part.startsWith("-") || !PART.test(part))
  ) {
    return [unknown];
  }
  const faults: string[] = [];
  if (name.toLowerCase() === "local") {
    faults.push(
      "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones",
    );
  }
  if (!isTimeZone(name)) faults.push(unknown);
  return faults;
}

/** "Local" is the zone of the machine, which every machine has. */
export function isTimeZone(name: string): boolean {
  return name === "Local" || isListed(name);
}

/** The platform knows the names in any case; the database has them in one. */
function isListed(name: string): boolean {
  if (!/^[A-Z]/.test(name) || !isKnownInAnyCase(name)) return false;
  const lower = name.toLowerCase();
  const listed = Intl.supportedValuesOf("timeZone").find((zone) => zone.toLowerCase() === lower);
  return listed === undefined
    ? name.split("/").every((part) => /^[A-Z]/.test(part))
    : listed === name;
}

function isKnownInAnyCase(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/**
 * How far the clocks of a zone are ahead of UTC at an instant. No name means UTC, and so does "Local":
 * a cluster's machines need not agree on one.
 */
export function utcOffsetMs(name: string): (atMs: number) => number {
  if (name === "" || name === "UTC" || name === "Local") return () => 0;
  return zoneOffset(name);
}
