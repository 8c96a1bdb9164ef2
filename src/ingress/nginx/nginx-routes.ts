/**
 * What nginx knows of the routing table. Pure. Routes that need more than to pick an endpoint and pass the
 * request on (regular expressions, redirects, rewrites, affinity, other protocols than HTTP) are marked: nginx
 * sends their requests to the built-in data plane, which answers them by the whole table.
 */
import type { EndpointAddress } from "../routes/ready-endpoints.ts";
import type { Backend, HostRules, Route, RoutingTable } from "../routes/routing-table.ts";

export interface NginxRoutes {
  readonly hosts: Readonly<Record<string, NginxHost>>;
  /** Numbers of routes count from 1, as lists of Lua do; 0 is none. */
  readonly defaultRoute: number;
  readonly routes: readonly NginxRoute[];
  /** `[host, port]` of endpoints, by the backend's key. */
  readonly backends: Readonly<Record<string, readonly (readonly [string, number])[]>>;
}

interface NginxHost {
  readonly exact: Readonly<Record<string, number>>;
  readonly prefixes: Readonly<Record<string, number>>;
  /** How many elements the longest prefix has. */
  readonly depth: number;
  /** It has regular expressions: the built-in data plane decides. */
  readonly builtIn: boolean;
  readonly defaultRoute: number;
}

interface NginxRoute {
  /** What its requests are counted by: namespace, Ingress and Service. */
  readonly name: string;
  readonly backend: string;
  readonly builtIn: boolean;
  /** Requests without TLS are redirected, by the built-in data plane. */
  readonly redirects: boolean;
  readonly bodyBytesMax: number;
  readonly connectSeconds: number;
  readonly readSeconds: number;
}

export function nginxRoutes(
  table: RoutingTable,
  endpoints: (backend: Backend) => readonly EndpointAddress[],
): NginxRoutes {
  const routes: NginxRoute[] = [];
  const numbers = new Map<Route, number>();
  const backends: Record<string, readonly (readonly [string, number])[]> = Object.create(null);
  const numberOf = (route: Route | undefined): number => {
    if (route === undefined) return 0;
    const known = numbers.get(route);
    if (known !== undefined) return known;
    const number = routes.push(routeOf(route));
    numbers.set(route, number);
    const { backend } = route;
    if (backend !== undefined)
      backends[keyOf(backend)] ??= endpoints(backend).map(({ host, port }) => [
        host.includes(":") ? `[${host}]` : host,
        port,
      ]);
    return number;
  };
  const hosts: Record<string, NginxHost> = Object.create(null);
  for (const [host, rules] of table.hosts()) hosts[host] = hostOf(rules, numberOf);
  return { hosts, defaultRoute: numberOf(table.defaultRoute), routes, backends };
}

function hostOf(
  { paths, defaultRoute }: HostRules,
  numberOf: (route: Route | undefined) => number,
): NginxHost {
  const numbered = (rules: Iterable<readonly [string, Route]>): Record<string, number> => {
    const all: Record<string, number> = Object.create(null);
    for (const [path, route] of rules) all[path] = numberOf(route);
    return all;
  };
  return {
    exact: numbered(paths.exactRules()),
    prefixes: numbered(paths.prefixRules()),
    depth: paths.depthMax,
    builtIn: paths.hasRegexes,
    defaultRoute: numberOf(defaultRoute),
  };
}

function routeOf({ namespace, ingress, backend, policy, tls }: Route): NginxRoute {
  const isPlain =
    backend?.protocol === "HTTP" &&
    policy.redirect === undefined &&
    policy.appRoot === undefined &&
    policy.rewriteTarget === undefined &&
    policy.affinity === undefined;
  const service = backend?.service.slice(backend.service.indexOf("/") + 1) ?? "";
  return {
    name: `${namespace} ${ingress} ${service}`,
    backend: backend === undefined ? "" : keyOf(backend),
    builtIn: !isPlain,
    redirects: policy.forceSslRedirect || (policy.sslRedirect && tls),
    bodyBytesMax: policy.bodyBytesMax,
    connectSeconds: policy.connectTimeoutMs / 1000,
    readSeconds: policy.readTimeoutMs / 1000,
  };
}

function keyOf({ service, portName }: Backend): string {
  return `${service}:${portName}`;
}
