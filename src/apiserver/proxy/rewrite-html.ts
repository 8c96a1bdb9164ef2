/**
 * Links of pages that come through a proxy: those that lead to the proxied server itself are led
 * through the proxy again, in HTML and in Location headers.
 */
import { deflateRawSync, gunzipSync, gzipSync, inflateRawSync } from "node:zlib";

export interface ProxyPlace {
  /** The path up to `proxy`, which comes before every path of the proxied server. */
  readonly prefix: string;
  /** `host:port` of the proxied server. */
  readonly targetHost: string;
  /** What the client calls this server. */
  readonly ownHost: string;
}

/** One address; others' and relative ones stay as they are. */
export function rewriteUrl(text: string, { prefix, targetHost, ownHost }: ProxyPlace): string {
  const parts = /^(?:([a-zA-Z][a-zA-Z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(.*)$/s.exec(text);
  if (parts === null) return text;
  const [, scheme = "", host = "", path = "", rest = ""] = parts;
  if (scheme !== "" && host === "") return text; // mailto: and the like
  const elsewhere = host !== "" && host !== targetHost && host !== ownHost;
  if (elsewhere || !path.startsWith("/")) return text;
  const kept =
    host === ownHost && host !== "" ? `${scheme === "" ? "" : `${scheme}:`}//${host}` : "";
  return `${kept}${path.startsWith(prefix) ? path : prefix + path}${rest}`;
}

/** Undefined for an encoding that is not understood. */
export function rewriteHtml(
  body: Buffer,
  encoding: string | undefined,
  place: ProxyPlace,
): Buffer | undefined {
  switch (encoding ?? "") {
    case "":
      return Buffer.from(rewriteLinks(body.toString(), place));
    case "gzip":
      return gzipSync(rewriteLinks(gunzipSync(body).toString(), place));
    case "deflate":
      return deflateRawSync(rewriteLinks(inflateRawSync(body).toString(), place));
    default:
      return undefined;
  }
}

const LINKS: Readonly<Record<string, readonly string[]>> = {
  a: ["href"],
  applet: ["codebase"],
  area: ["href"],
  audio: ["src"],
  base: ["href"],
  blockquote: ["cite"],
  body: ["background"],
  button: ["formaction"],
  command: ["icon"],
  del: ["cite"],
  embed: ["src"],
  form: ["action"],
  frame: ["longdesc", "src"],
  head: ["profile"],
  html: ["manifest"],
  iframe: ["longdesc", "src"],
  img: ["longdesc", "src", "usemap"],
  input: ["src", "usemap", "formaction"],
  ins: ["cite"],
  link: ["href"],
  object: ["classid", "codebase", "data", "usemap"],
  q: ["cite"],
  script: ["src"],
  source: ["src"],
  video: ["poster", "src"],
};

/** Tags; comments and the contents of scripts and styles are matched as a whole, so that they stay unchanged. */
const TAGS =
  /<!--.*?-->|(<(script|style)\b[^>]*>)(.*?<\/\2\s*>)|<([a-zA-Z][^\s/>]*)((?:"[^"]*"|'[^']*'|[^'">])*)>/gis;
const ATTRIBUTES = /([^\s"'>/=]+)(\s*=\s*)("[^"]*"|'[^']*'|[^\s"'>]+)/g;

function rewriteLinks(html: string, place: ProxyPlace): string {
  return html.replace(
    TAGS,
    (match, opening: string | undefined, _name, inside, tag, attributes) => {
      if (opening !== undefined) {
        return `${rewriteTag(opening, /^<(\w+)/.exec(opening)![1]!, place)}${inside as string}`;
      }
      if (tag === undefined) return match;
      return attributes === "" ? match : rewriteTag(match, tag as string, place);
    },
  );
}

function rewriteTag(tag: string, name: string, place: ProxyPlace): string {
  const links = LINKS[name.toLowerCase()];
  if (links === undefined) return tag;
  return tag.replace(ATTRIBUTES, (whole, attribute: string, equals: string, value: string) => {
    if (!links.includes(attribute.toLowerCase())) return whole;
    const quote = /^["']/.exec(value)?.[0] ?? "";
    const address = quote === "" ? value : value.slice(1, -1);
    return `${attribute}${equals}${quote}${rewriteUrl(address, place)}${quote}`;
  });
}
