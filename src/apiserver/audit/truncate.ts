/** Truncates events that are too long for the log: objects are dropped first, then the whole event. */
const TRUNCATED = "audit.k8s.io/truncated";

/** Undefined: too long in any case. */
export function truncateEvent(line: string, bytesMax: number): string | undefined {
  if (Buffer.byteLength(line) <= bytesMax) return line;
  const {
    requestObject: _sent,
    responseObject: _got,
    ...event
  } = JSON.parse(line) as {
    level?: string;
    requestObject?: unknown;
    responseObject?: unknown;
    annotations?: Readonly<Record<string, string>>;
  };
  if (event.level === "Metadata") return undefined; // has no objects that it could lose
  const short = { ...event, annotations: { ...event.annotations, [TRUNCATED]: "true" } };
  const text = `${JSON.stringify(short)}\n`;
  return Buffer.byteLength(text) <= bytesMax ? text : undefined;
}
