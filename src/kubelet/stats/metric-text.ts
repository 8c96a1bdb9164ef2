/** Metric families in Prometheus' text format. Pure. */

export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  /** Shared by the samples of one thing, so that their text is made once. */
  readonly labels: Labels;
  readonly value: number;
  readonly timeMs?: number;
  /** Behind the family's name: `_bucket`, `_sum`. */
  readonly suffix?: string;
}

export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly samples: readonly Sample[];
}

/** Families without samples are left out. */
export function metricText(families: readonly Family[]): string {
  const known = new Map<Labels, string>();
  const textOf = (labels: Labels): string => {
    const found = known.get(labels) ?? labelText(labels);
    known.set(labels, found);
    return found;
  };
  return families.map((family) => familyText(family, textOf)).join("");
}

function familyText(
  { name, help, type, samples }: Family,
  textOf: (labels: Labels) => string,
): string {
  if (samples.length === 0) return "";
  const lines = samples.map(({ labels, value, timeMs, suffix = "" }) => {
    const at = timeMs === undefined ? "" : ` ${timeMs}`;
    return `${name}${suffix}${textOf(labels)} ${value}${at}\n`;
  });
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join("")}`;
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([key, text]) => `${key}=${JSON.stringify(text)}`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}
