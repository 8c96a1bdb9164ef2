/** What an agent says that it can reach: `host=node1&ipv4=10.0.0.1&cidr=10.0.0.0/8&default-route=true`. */

export interface AgentIdentifiers {
  /** Host names and addresses. */
  readonly hosts: ReadonlySet<string>;
  readonly defaultRoute: boolean;
  /** The first kind of identifier that is not known. */
  readonly unknown?: string;
}

const HOSTS_MAX = 1_000;
const KINDS: ReadonlySet<string> = new Set(["host", "ipv4", "ipv6", "cidr", "default-route"]);

/** Kinds of identifiers that are not known are left out, as upstream does. */
export function parseAgentIdentifiers(text: string): AgentIdentifiers {
  const values = new URLSearchParams(text);
  const hosts = ["host", "ipv4", "ipv6"].flatMap((kind) => values.getAll(kind));
  const unknown = [...values.keys()].find((kind) => !KINDS.has(kind));
  return {
    hosts: new Set(hosts.slice(0, HOSTS_MAX)),
    defaultRoute: values.get("default-route") === "true",
    ...(unknown === undefined ? {} : { unknown }),
  };
}
