/** The environment variables of a container for the Services in its namespace. */
import type { Service } from "#api/generated/core.v1.ts";

/** `kubernetes` in `default` is always included, others only with enableServiceLinks. */
export function serviceEnv(
  services: Iterable<Service>,
  namespace: string,
  withLinks: boolean,
): Map<string, string> {
  const chosen = new Map<string, Service>();
  for (const service of services) {
    const { name = "", namespace: home } = service.metadata;
    const { clusterIP } = service.spec;
    if (clusterIP === undefined || clusterIP === "" || clusterIP === "None") continue;
    if (home === "default" && name === "kubernetes") {
      if (!chosen.has(name)) chosen.set(name, service);
    } else if (home === namespace && withLinks) chosen.set(name, service);
  }
  const env = new Map<string, string>();
  for (const [name, service] of chosen) addService(env, name, service);
  return env;
}

function addService(env: Map<string, string>, name: string, { spec }: Service): void {
  const prefix = variableName(name);
  const ip = spec.clusterIP ?? "";
  const [first] = spec.ports ?? [];
  if (first === undefined) return;
  env.set(`${prefix}_SERVICE_HOST`, ip);
  env.set(`${prefix}_SERVICE_PORT`, String(first.port));
  for (const { name: portName, port } of spec.ports ?? []) {
    if (portName) env.set(`${prefix}_SERVICE_PORT_${variableName(portName)}`, String(port));
  }
  for (const { port, protocol = "TCP" } of spec.ports ?? []) {
    const scheme = protocol.toLowerCase();
    const url = `${scheme}://${ip.includes(":") ? `[${ip}]` : ip}:${port}`;
    if (!env.has(`${prefix}_PORT`)) env.set(`${prefix}_PORT`, url);
    const portPrefix = `${prefix}_PORT_${port}_${protocol.toUpperCase()}`;
    env.set(portPrefix, url);
    env.set(`${portPrefix}_PROTO`, scheme);
    env.set(`${portPrefix}_PORT`, String(port));
    env.set(`${portPrefix}_ADDR`, ip);
  }
}

function variableName(text: string): string {
  return text.replaceAll("-", "_").toUpperCase();
}
