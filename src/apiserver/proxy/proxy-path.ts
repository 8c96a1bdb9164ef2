/** What of a proxied request's path is this server's, and what the proxied server's. */
import { posix } from "node:path";
import type { ApiRequest } from "../request/request.ts";

export interface ProxyPath {
  /** Up to `proxy`. */
  readonly prefix: string;
  /** What comes after it, cleaned; "" if nothing does, not even a slash. */
  readonly path: string;
  /** With its question mark, or "". */
  readonly query: string;
}

export function splitProxyPath({ rawUrl, path, query }: ApiRequest): ProxyPath {
  const mark = rawUrl?.indexOf("?") ?? -1;
  const rawQuery = rawUrl === undefined ? (query.size === 0 ? "" : `?${query}`) : "";
  const match = /^(\/api\/v1\/(?:namespaces\/[^/]+\/)?[^/]+\/[^/]+\/proxy)(\/.*)?$/s.exec(path);
  return {
    prefix: match?.[1] ?? path,
    path: escapePath(clean(match?.[2] ?? "")),
    query: mark < 0 ? rawQuery : rawUrl!.slice(mark),
  };
}

function clean(path: string): string {
  return path === "" ? "" : posix.normalize(path.replace(/^\/+/, "/"));
}

/** As URLs of Go programs look: a little stricter than `encodeURI`. */
function escapePath(path: string): string {
  return encodeURI(path).replace(
    /[!*'()?#]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
