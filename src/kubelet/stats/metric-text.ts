/** Metric families in Prometheus' text format. Pure. */

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
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
  return families.map(familyText).join("");
}

function familyText({ name, help, type, samples }: Family): string {
  if (samples.length === 0) return "";
  const lines = samples.map(({ labels, value, timeMs, suffix = "" }) => {
    const pairs = Object.entries(labels).map(([key, text]) => `${key}=${JSON.stringify(text)}`);
    const at = timeMs === undefined ? "" : ` ${timeMs}`;
    return `${name}${suffix}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${value}${at}\n`;
  });
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join("")}`;
}
