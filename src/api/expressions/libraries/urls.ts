/** URLs in expressions. */
import type { Library } from "#api/cel/library.ts";
import { objectType } from "#api/cel/types/type.ts";
import { ArrayList, CelError, CelObject, EntryMap } from "#api/cel/values/value.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { parseGoUrl } from "#api/validation/go-url.ts";

const TYPE = objectType("kubernetes.URL");

class UrlValue extends CelObject {
  readonly type = TYPE;
  readonly text: string;
  readonly scheme: string;
  readonly host: string;
  readonly path: string;
  readonly query: string;

  constructor(text: string, scheme: string, host: string, query: string) {
    super();
    this.text = text;
    this.scheme = scheme;
    this.host = host;
    this.query = query;
    this.path = pathOf(text);
  }

  equals(other: CelObject): boolean {
    return other instanceof UrlValue && other.text === this.text;
  }
}

export const urlLibrary: Library = {
  functions: {
    "string_to_url url(string) -> kubernetes.URL": (text: string) => {
      const fault = requestUriFault(text);
      const failed = "URL parse error during conversion from string";
      if (fault !== undefined) throw new CelError(`${failed}: ${fault}`);
      const parsed = parseGoUrl(text);
      if (!parsed.ok) throw new CelError(`${failed}: ${parsed.fault}`);
      const { scheme, host, query } = parsed.url;
      return new UrlValue(text, scheme, host, query);
    },
    "url_get_scheme kubernetes.URL.getScheme() -> string": ({ scheme }: UrlValue) => scheme,
    "url_get_host kubernetes.URL.getHost() -> string": ({ host }: UrlValue) => host,
    "url_get_hostname kubernetes.URL.getHostname() -> string": ({ host }: UrlValue) =>
      host.replace(/:\d*$/, "").replace(/^\[(.*)\]$/, "$1"),
    "url_get_port kubernetes.URL.getPort() -> string": ({ host }: UrlValue) =>
      /:(\d*)$/.exec(host)?.[1] ?? "",
    "url_get_escaped_path kubernetes.URL.getEscapedPath() -> string": ({ path }: UrlValue) => path,
    "url_get_query kubernetes.URL.getQuery() -> map(string, list(string))": ({
      query,
    }: UrlValue) => {
      const values = new Map<string, string[]>();
      for (const pair of query.split("&")) {
        if (pair === "" || pair.includes(";")) continue;
        const at = pair.indexOf("=");
        const key = unescapeQuery(at < 0 ? pair : pair.slice(0, at));
        const value = unescapeQuery(at < 0 ? "" : pair.slice(at + 1));
        if (key === undefined || value === undefined) continue;
        values.set(key, [...(values.get(key) ?? []), value]);
      }
      return new EntryMap(Array.from(values, ([key, list]) => [key, new ArrayList(list)]));
    },
    "is_url_string isURL(string) -> bool": (text: string) => requestUriFault(text) === undefined,
  },
};

/** Of a URL as a request names it: absolute, or a path from the root. */
export function requestUriFault(text: string): string | undefined {
  if (text === "") return 'parse "": empty url';
  const parsed = parseGoUrl(text.replaceAll("#", "%23"));
  if (!parsed.ok) return parsed.fault;
  const isAbsolute = parsed.url.scheme !== "" || text.startsWith("/") || text === "*";
  return isAbsolute ? undefined : `parse ${goQuote(text)}: invalid URI for request`;
}

function pathOf(text: string): string {
  const rest = text.replace(/[?#].*$/s, "").replace(/^[A-Za-z][A-Za-z0-9+.-]*:/, "");
  const path = rest.startsWith("//") ? rest.slice(2).replace(/^[^/]*/, "") : rest;
  return path.startsWith("/") || path === "*" ? path.replaceAll(/[^\x21-\x7e]/g, encodeURI) : "";
}

function unescapeQuery(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}
