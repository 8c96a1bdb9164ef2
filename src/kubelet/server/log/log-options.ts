/** The options of a log request, from its query, with upstream's rules. */

export interface LogOptions {
  readonly follow: boolean;
  readonly previous: boolean;
  readonly timestamps: boolean;
  /** Lines from the end; all of them unless given. */
  readonly tailLines?: number;
  readonly limitBytes?: number;
  /** Lines that were written before this time are left out. */
  readonly sinceMs?: number;
  readonly stream: "All" | "Stdout" | "Stderr";
}

export type ParsedLogOptions =
  | { readonly ok: true; readonly options: LogOptions }
  | { readonly ok: false; readonly code: 400 | 422; readonly message: string };

const STREAMS: ReadonlySet<string> = new Set(["All", "Stdout", "Stderr"]);

export function parseLogOptions(query: URLSearchParams, nowMs: number): ParsedLogOptions {
  const unreadable = { ok: false, code: 400, message: "Unable to decode query." } as const;
  const invalid = { ok: false, code: 422, message: "Invalid request." } as const;
  const numbers: Record<string, number | undefined> = {};
  for (const name of ["tailLines", "limitBytes", "sinceSeconds"]) {
    const text = query.get(name);
    // "all" is what very old clients send.
    if (text === null || text === "" || (name === "tailLines" && text === "all")) continue;
    if (!/^-?\d+$/.test(text)) return unreadable;
    numbers[name] = Number(text);
  }
  const sinceTime = query.get("sinceTime") ?? "";
  const sinceTimeMs = sinceTime === "" ? undefined : Date.parse(sinceTime);
  if (Number.isNaN(sinceTimeMs)) return unreadable;
  const { tailLines, limitBytes, sinceSeconds } = numbers;
  if (tailLines !== undefined && tailLines < 0) return invalid;
  if (limitBytes !== undefined && limitBytes < 1) return invalid;
  if (sinceSeconds !== undefined && (sinceSeconds < 1 || sinceTimeMs !== undefined)) return invalid;
  const stream = query.get("stream") || "All";
  if (!STREAMS.has(stream) || (stream !== "All" && tailLines !== undefined)) return invalid;
  const sinceMs = sinceSeconds === undefined ? sinceTimeMs : nowMs - sinceSeconds * 1000;
  return {
    ok: true,
    options: {
      follow: isTrue(query.get("follow")),
      previous: isTrue(query.get("previous")),
      timestamps: isTrue(query.get("timestamps")),
      ...(tailLines === undefined ? {} : { tailLines }),
      ...(limitBytes === undefined ? {} : { limitBytes }),
      ...(sinceMs === undefined ? {} : { sinceMs }),
      stream: stream as LogOptions["stream"],
    },
  };
}

/** As upstream converts a query parameter: present and not a word for no. */
function isTrue(text: string | null): boolean {
  return text !== null && text !== "0" && text.toLowerCase() !== "false";
}
