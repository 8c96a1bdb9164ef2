/** What an agent says that it can reach: `host=node1&ipv4=10.0.0.1&cidr=10.0.0.0/8&default-route=true`. */

export interface AgentIdentifiers {
  /** Host names and addresses. */
  readonly hosts: ReadonlySet<string>;
  readonly defaultRoute: boolean;
}

const HOSTS_MAX = 1_000;

/** Kinds of identifiers that are not known are left out, as upstream does. */
export function parseAgentIdentifiers(text: string): AgentIdentifiers {
  const values = new URLSearchParams(text);
  const hosts = ["host", "ipv4", "ipv6"].flatMap((kind) => values.getAll(kind));
  return {
    hosts: new Set(hosts.slice(0, HOSTS_MAX)),
    defaultRoute: values.get("default-route") === "true",
  };
}
