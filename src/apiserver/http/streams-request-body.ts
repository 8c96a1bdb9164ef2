/** Requests whose body goes to another server as it comes. */
import type { HttpRequest } from "./exchange.ts";

const PROXIED =
  /^\/api\/v1\/(?:namespaces\/[^/]+\/(?:pods|services)|nodes)\/[^/]+\/proxy(?:[/?]|$)/;

export function isPassedOn({ method, url }: Pick<HttpRequest, "method" | "url">): boolean {
  return method !== "GET" && method !== "HEAD" && PROXIED.test(url);
}
