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

/** `prefix<key>: value` headers by key; keys are in lower case and may be percent-encoded. */
export function keyedHeaders(request: WithHeaders, prefix: string): Map<string, string[]> {
  const byKey = new Map<string, string[]>();
  for (const name of Object.keys(request.headers)) {
    if (!name.startsWith(prefix)) continue;
    const key = unescapeKey(name.slice(prefix.length));
    byKey.set(key, [...(byKey.get(key) ?? []), ...headerValues(request, name)]);
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
