/** Headers that may come several times, and headers whose names carry a key. */
import type { ApiRequest } from "../request/request.ts";

type WithHeaders = Pick<ApiRequest, "headers" | "rawHeaders">;

/** Every value of a header, in order. */
export function headerValues({ headers, rawHeaders }: WithHeaders, name: string): string[] {
  const joined = headers[name];
  if (joined === undefined) return [];
  if (rawHeaders === undefined) return [joined];
  return rawHeaders.flatMap((_, at) =>
    at % 2 === 0 && rawHeaders[at]!.toLowerCase() === name ? [rawHeaders[at + 1]!] : [],
  );
}

/**
 * `prefix<key>: value` headers by key; keys are in lower case and may be percent-encoded. One pass over
 * the headers, however many there are.
 */
export function keyedHeaders(
  { headers, rawHeaders }: WithHeaders,
  prefix: string,
): Map<string, string[]> {
  const pairs = rawHeaders ?? Object.entries(headers).flat();
  const byKey = new Map<string, string[]>();
  for (let at = 0; at < pairs.length; at += 2) {
    const name = pairs[at]!.toLowerCase();
    if (!name.startsWith(prefix)) continue;
    const key = unescapeKey(name.slice(prefix.length));
    const values = byKey.get(key);
    if (values === undefined) byKey.set(key, [pairs[at + 1] ?? ""]);
    else values.push(pairs[at + 1] ?? "");
  }
  return byKey;
}

function unescapeKey(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key; // recorded as it is rather than lost
  }
}
