/**
 * Where a request goes: host first, then path.
 *
 * Promises:
 * 1. Rules for the exact host come first, then those of the wildcard that covers its first label, then
 *    rules without a host. Where a host has no matching path, the next of these is looked at.
 * 2. What no rule matches goes to the default backend: that of an Ingress which has rules for the host,
 *    otherwise that of the cluster.
 */
import { type PathMatch, PathRules } from "./path-rules.ts";
import type { BackendProtocol, RoutePolicy } from "./route-policy.ts";

/** A port of a Service. */
export interface Backend {
  /** `namespace/name` */
  readonly service: string;
  /** As EndpointSlices name the port; empty for one without a name. */
  readonly portName: string;
  readonly protocol: BackendProtocol;
}

export interface Route {
  readonly namespace: string;
  readonly ingress: string;
  /** Undefined: the Service is missing or cannot be used, and requests get 503. */
  readonly backend: Backend | undefined;
  readonly policy: RoutePolicy;
  /** Whether the Ingress has a certificate for the host of the rule. */
  readonly tls: boolean;
}

export interface HostRules {
  readonly paths: PathRules<Route>;
  defaultRoute: Route | undefined;
}

export class RoutingTable {
  readonly #hosts = new Map<string, HostRules>();
  #default: Route | undefined;

  /** An empty host stands for all, `*.example.com` for one label before `.example.com`. */
  rulesOf(host: string): HostRules {
    let rules = this.#hosts.get(host);
    if (rules === undefined) {
      rules = { paths: new PathRules(), defaultRoute: undefined };
      this.#hosts.set(host, rules);
    }
    return rules;
  }

  /** Answers whether it was set: false if there is one. */
  setDefault(route: Route): boolean {
    if (this.#default !== undefined) return false;
    this.#default = route;
    return true;
  }

  hosts(): Iterable<readonly [host: string, rules: HostRules]> {
    return this.#hosts;
  }

  get defaultRoute(): Route | undefined {
    return this.#default;
  }

  find(host: string, path: string): PathMatch<Route> | undefined {
    let fallback: Route | undefined;
    for (const key of [host, wildcardOf(host), ""]) {
      const rules = key === undefined ? undefined : this.#hosts.get(key);
      if (rules === undefined) continue;
      const found = rules.paths.find(path);
      if (found !== undefined) return found;
      fallback ??= rules.defaultRoute;
    }
    const route = fallback ?? this.#default;
    return route === undefined ? undefined : { route, matched: "", groups: [] };
  }
}

/** The wildcard that covers a host, if it has more than one label. */
export function wildcardOf(host: string): string | undefined {
  const dot = host.indexOf(".");
  return dot <= 0 ? undefined : `*${host.slice(dot)}`;
}

/** The host that a Host header or `:authority` names, without port and in lower case. */
export function hostOf(header: string): string {
  const host = header.startsWith("[")
    ? header.slice(0, header.indexOf("]") + 1)
    : header.split(":", 1)[0]!;
  return host.toLowerCase().replace(/\.$/, "");
}
