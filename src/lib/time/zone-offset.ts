/** How far the clocks of a time zone are ahead of UTC. Throws RangeError for a zone that is not known. */
export function zoneOffset(zone: string): (atMs: number) => number {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    calendar: "gregory",
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  return (atMs) => {
    const parts = new Map(format.formatToParts(atMs).map(({ type, value }) => [type, value]));
    const part = (type: Intl.DateTimeFormatPartTypes): number => Number(parts.get(type));
    const [year, month, day] = [part("year"), part("month") - 1, part("day")];
    const wallMs = utcMs(year, month, day, part("hour"), part("minute"), part("second"));
    return wallMs - Math.floor(atMs / 1000) * 1000;
  };
}

/** Date.UTC takes years below 100 for those of the last century. */
export function utcMs(
  year: number,
  month: number,
  day: number,
  h: number,
  m: number,
  s: number,
): number {
  const date = new Date(Date.UTC(2000, month, day, h, m, s));
  date.setUTCFullYear(year, month, day);
  return date.getTime();
}
