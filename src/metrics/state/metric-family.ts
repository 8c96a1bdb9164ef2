/** A family of metrics in Prometheus' text format, written line by line. */

/** Undefined labels are left out. */
export type LabelValues = Readonly<Record<string, string | number | undefined>>;

export interface StateSample {
  readonly labels: LabelValues;
  readonly value: number;
}

/** What one object says, by the name of the family. */
export type StateFamilies<T> = Readonly<Record<string, (object: T) => readonly StateSample[]>>;

/** Of a value that may not be there. */
export function sample(labels: LabelValues, value: number | undefined): readonly StateSample[] {
  return value === undefined || Number.isNaN(value) ? [] : [{ labels, value }];
}

/** One sample for each status of a condition, 1 for the one that it has. */
export function conditionSamples(
  labels: LabelValues,
  conditions: readonly { readonly type: string; readonly status: string }[] = [],
): readonly StateSample[] {
  return conditions.flatMap(({ type, status }) =>
    ["true", "false", "unknown"].map((one) => ({
      labels: { ...labels, condition: type, status: one },
      value: status.toLowerCase() === one ? 1 : 0,
    })),
  );
}

export function sampleLine(name: string, { labels, value }: StateSample): string {
  let text = "";
  for (const key in labels) {
    const label = labels[key];
    if (label === undefined) continue;
    text += `${text === "" ? "" : ","}${key}="${escaped(String(label))}"`;
  }
  return `${name}{${text}} ${value}\n`;
}

export function familyHead(name: string): string {
  const type = name.endsWith("_total") ? "counter" : "gauge";
  return `# HELP ${name} ${helpOf(name)}\n# TYPE ${name} ${type}\n`;
}

/** `kube_pod_status_phase` → "pod status phase". */
function helpOf(name: string): string {
  return name.replace(/^kube_/, "").replaceAll("_", " ");
}

function escaped(text: string): string {
  return /[\\"\n]/.test(text)
    ? text.replace(/[\\"\n]/g, (char) => (char === "\n" ? "\\n" : `\\${char}`))
    : text;
}
