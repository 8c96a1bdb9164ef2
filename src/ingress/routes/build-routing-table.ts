/**
 * Ingress objects → routing table.
 *
 * Promises:
 * 1. Only Ingresses whose class belongs to this controller count: `spec.ingressClassName`, or the old
 *    annotation `kubernetes.io/ingress.class`.
 * 2. The oldest Ingress wins where two want the same host and path; the other gets a problem.
 * 3. What cannot be served is a problem in words, and everything else of the Ingress is served.
 */
import type { Service } from "#api/generated/core.v1.ts";
import type {
  HTTPIngressPath,
  Ingress,
  IngressBackend,
  IngressClass,
} from "#api/generated/networking.v1.ts";
import { messageOf } from "#lib/caught.ts";
import { type BackendProtocol, type RoutePolicy, readPolicy } from "./route-policy.ts";
import { type Backend, type Route, RoutingTable } from "./routing-table.ts";

export const CONTROLLER = "k8ts.io/ingress";
const CLASS_ANNOTATION = "kubernetes.io/ingress.class";

export interface IngressWorld {
  readonly ingresses: readonly Ingress[];
  readonly classes: readonly IngressClass[];
  /** By `namespace/name`. */
  service(key: string): Service | undefined;
}

export interface Problem {
  readonly ingress: Ingress;
  readonly reason:
    | "InvalidAnnotation"
    | "InvalidBackend"
    | "InvalidPath"
    | "Conflict"
    | "InvalidTLS";
  readonly message: string;
}

/** A host (empty: the default) and the Secret with its certificate. */
export interface TlsEntry {
  readonly host: string;
  readonly secret: string;
  readonly ingress: Ingress;
}

export interface BuiltTable {
  readonly table: RoutingTable;
  readonly tls: readonly TlsEntry[];
  /** Ingresses of this controller. */
  readonly accepted: readonly Ingress[];
  readonly problems: readonly Problem[];
}

export function buildRoutingTable(world: IngressWorld): BuiltTable {
  const owned = new Set(
    world.classes.flatMap(({ metadata, spec }) =>
      spec.controller === CONTROLLER ? [metadata.name ?? ""] : [],
    ),
  );
  const accepted = world.ingresses
    .filter((ingress) => ingress.metadata.deletionTimestamp === undefined)
    .filter((ingress) => owned.has(classOf(ingress) ?? ""))
    .sort(byAge);
  const table = new RoutingTable();
  const problems: Problem[] = [];
  const tls = tlsEntries(accepted, problems);
  const adders = accepted.map((ingress) => new IngressRoutes(ingress, world, table, problems));
  for (const adder of adders) adder.addRules();
  // An Ingress without rules is the cluster's default before one whose rules did not match.
  for (const adder of adders) if (!adder.hasRules) adder.addDefault();
  for (const adder of adders) if (adder.hasRules) adder.addDefault();
  return { table, tls, accepted, problems };
}

function classOf({ metadata, spec }: Ingress): string | undefined {
  return spec.ingressClassName ?? metadata.annotations?.[CLASS_ANNOTATION];
}

function byAge(a: Ingress, b: Ingress): number {
  const keyOf = ({ metadata }: Ingress): string =>
    `${metadata.creationTimestamp ?? ""} ${metadata.namespace}/${metadata.name}`;
  return keyOf(a) < keyOf(b) ? -1 : 1;
}

function tlsEntries(accepted: readonly Ingress[], problems: Problem[]): readonly TlsEntry[] {
  const entries = new Map<string, TlsEntry>();
  for (const ingress of accepted) {
    for (const { hosts = [], secretName = "" } of ingress.spec.tls ?? []) {
      if (secretName === "") continue; // the default certificate serves these hosts
      const secret = `${ingress.metadata.namespace}/${secretName}`;
      for (const host of hosts.length === 0 ? [""] : hosts) {
        const known = entries.get(host);
        if (known === undefined) entries.set(host, { host, secret, ingress });
        else if (known.secret !== secret) {
          const name = host === "" ? "hosts without a certificate" : host;
          const owner = `${known.ingress.metadata.namespace}/${known.ingress.metadata.name}`;
          const message = `the certificate for ${name} is that of the older Ingress ${owner}`;
          problems.push({ ingress, reason: "Conflict", message });
        }
      }
    }
  }
  return [...entries.values()];
}

/** Adds what one Ingress says to the table. */
class IngressRoutes {
  readonly #ingress: Ingress;
  readonly #world: IngressWorld;
  readonly #table: RoutingTable;
  readonly #problems: Problem[];
  readonly #policy: RoutePolicy;
  readonly #tlsHosts: ReadonlySet<string>;

  constructor(ingress: Ingress, world: IngressWorld, table: RoutingTable, problems: Problem[]) {
    this.#ingress = ingress;
    this.#world = world;
    this.#table = table;
    this.#problems = problems;
    const { policy, problems: wrong } = readPolicy(ingress.metadata.annotations);
    this.#policy = policy;
    for (const message of wrong) this.#report("InvalidAnnotation", message);
    this.#tlsHosts = new Set(
      (ingress.spec.tls ?? []).flatMap(({ hosts = [] }) => (hosts.length === 0 ? [""] : hosts)),
    );
  }

  get hasRules(): boolean {
    return (this.#ingress.spec.rules ?? []).length > 0;
  }

  addRules(): void {
    for (const { host = "", http } of this.#ingress.spec.rules ?? []) {
      for (const path of http?.paths ?? []) this.#addPath(host, path);
    }
  }

  addDefault(): void {
    const { defaultBackend, rules = [] } = this.#ingress.spec;
    // A rule without paths sends everything of its host to the default backend.
    if (defaultBackend === undefined) return;
    const backend = this.#backend(defaultBackend, "spec.defaultBackend");
    for (const { host = "" } of rules) {
      this.#table.rulesOf(host).defaultRoute ??= this.#route(host, backend);
    }
    const isFirst = this.#table.setDefault(this.#route("", backend));
    if (!isFirst && !this.hasRules) {
      this.#report("Conflict", "an older Ingress has the default backend");
    }
  }

  #addPath(host: string, { path = "/", pathType, backend }: HTTPIngressPath): void {
    const place = `${host === "" ? "*" : host}${path}`;
    const route = this.#route(host, this.#backend(backend, place));
    const { paths } = this.#table.rulesOf(host);
    const isRegex =
      pathType === "ImplementationSpecific" &&
      (this.#policy.useRegex || this.#policy.rewriteTarget !== undefined);
    let isAdded: boolean;
    try {
      if (isRegex) isAdded = paths.addRegex(path, route);
      else if (pathType === "Exact") isAdded = paths.addExact(path, route);
      else isAdded = paths.addPrefix(path, route);
    } catch (error) {
      this.#report("InvalidPath", `${place}: ${messageOf(error)}`);
      return;
    }
    if (!isAdded) {
      this.#report("Conflict", `${place} (${pathType}) is served by an older rule`);
    }
  }

  #route(host: string, backend: Backend | undefined): Route {
    const { namespace = "", name = "" } = this.#ingress.metadata;
    const wildcard = host.includes(".") ? `*${host.slice(host.indexOf("."))}` : host;
    const tls = [host, wildcard, ""].some((each) => this.#tlsHosts.has(each));
    return { namespace, ingress: name, backend, policy: this.#policy, tls };
  }

  #backend({ service, resource }: IngressBackend, place: string): Backend | undefined {
    if (resource !== undefined) {
      const what = `${resource.kind} ${resource.name}`;
      const message = `${place}: resource backends are not supported (${what}), name a Service`;
      return this.#report("InvalidBackend", message);
    }
    if (service === undefined) return undefined;
    const key = `${this.#ingress.metadata.namespace}/${service.name}`;
    const found = this.#world.service(key);
    if (found === undefined) {
      return this.#report("InvalidBackend", `${place}: Service ${key} does not exist`);
    }
    if (found.spec.type === "ExternalName") {
      const message = `${place}: Service ${key} is of type ExternalName, which has no endpoints`;
      return this.#report("InvalidBackend", message);
    }
    const { name: portName = "", number = 0 } = service.port;
    const port = found.spec.ports?.find((each) =>
      portName === "" ? each.port === number : each.name === portName,
    );
    if (port === undefined || (port.protocol ?? "TCP") !== "TCP") {
      const wanted = portName === "" ? number : portName;
      return this.#report("InvalidBackend", `${place}: Service ${key} has no TCP port ${wanted}`);
    }
    const protocol = this.#policy.backendProtocol ?? protocolOf(port.appProtocol);
    return { service: key, portName: port.name ?? "", protocol };
  }

  #report(reason: Problem["reason"], message: string): undefined {
    this.#problems.push({ ingress: this.#ingress, reason, message });
  }
}

/** From the names that Kubernetes and IANA have for `appProtocol`. */
function protocolOf(appProtocol: string | undefined): BackendProtocol {
  switch (appProtocol?.toLowerCase()) {
    case "https":
    case "kubernetes.io/wss":
      return "HTTPS";
    case "kubernetes.io/h2c":
    case "grpc":
      return "GRPC";
    case "grpcs":
      return "GRPCS";
    default:
      return "HTTP";
  }
}
