/** Whether the body of a request is streamed: proxy requests forward it as it arrives. */
import type { HttpRequest } from "./exchange.ts";

const PROXIED =
  /^\/api\/v1\/(?:namespaces\/[^/]+\/(?:pods|services)|nodes)\/[^/]+\/proxy(?:[/?]|$)/;

export function streamsRequestBody({ method, url }: Pick<HttpRequest, "method" | "url">): boolean {
  return method !== "GET" && method !== "HEAD" && PROXIED.test(url);
}
