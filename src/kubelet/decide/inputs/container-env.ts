/** The environment of a container, from everything that it names. */
import type { ConfigMap, Container, Pod, Secret, Service } from "#api/generated/core.v1.ts";
import { type PodPlace, podField, resourceField } from "./downward-api.ts";
import { expand } from "./expand.ts";
import { serviceEnv } from "./service-env.ts";

export interface EnvSources {
  readonly services: Iterable<Service>;
  /** Undefined: there is no such object. */
  configMap(name: string): ConfigMap | undefined;
  secret(name: string): Secret | undefined;
}

export type EnvResult =
  | { readonly ok: true; readonly env: ReadonlyMap<string, string> }
  /** The message of CreateContainerConfigError. */
  | { readonly ok: false; readonly message: string };

class MissingSource extends Error {}

export function containerEnv(
  pod: Pod,
  container: Container,
  sources: EnvSources,
  place: PodPlace,
): EnvResult {
  try {
    return { ok: true, env: compose(pod, container, sources, place) };
  } catch (error) {
    if (error instanceof MissingSource) return { ok: false, message: error.message };
    throw error;
  }
}

function compose(
  pod: Pod,
  container: Container,
  sources: EnvSources,
  place: PodPlace,
): Map<string, string> {
  const namespace = pod.metadata.namespace ?? "";
  const links = serviceEnv(sources.services, namespace, pod.spec.enableServiceLinks ?? true);
  const env = new Map<string, string>();
  for (const { prefix = "", configMapRef, secretRef } of container.envFrom ?? []) {
    const ref = configMapRef ?? secretRef;
    if (ref === undefined) continue;
    const data = configMapRef
      ? dataOfConfigMap(sources.configMap(ref.name ?? ""))
      : dataOfSecret(sources.secret(ref.name ?? ""));
    if (data === undefined) {
      if (ref.optional) continue;
      throw new MissingSource(notFound(configMapRef ? "configmap" : "secret", ref.name ?? ""));
    }
    for (const [key, value] of data) env.set(prefix + key, value);
  }
  const lookUp = (name: string): string | undefined => env.get(name) ?? links.get(name);
  for (const variable of container.env ?? []) {
    const value = variable.value
      ? expand(variable.value, lookUp)
      : valueFrom(pod, container, variable.valueFrom, sources, place);
    if (value !== undefined) env.set(variable.name, value);
  }
  for (const [name, value] of links) if (!env.has(name)) env.set(name, value);
  return env;
}

type ValueSource = NonNullable<Container["env"]>[number]["valueFrom"];

/** Undefined: the variable is left out. */
function valueFrom(
  pod: Pod,
  container: Container,
  source: ValueSource,
  sources: EnvSources,
  place: PodPlace,
): string | undefined {
  if (source === undefined) return "";
  if (source.fieldRef) return podField(pod, source.fieldRef.fieldPath, place);
  if (source.resourceFieldRef) {
    const { containerName } = source.resourceFieldRef;
    const all = [...(pod.spec.initContainers ?? []), ...(pod.spec.containers ?? [])];
    const named = all.find(({ name }) => name === containerName) ?? container;
    return resourceField(source.resourceFieldRef, named, place);
  }
  const ref = source.configMapKeyRef ?? source.secretKeyRef;
  if (ref === undefined) return "";
  const isSecret = source.secretKeyRef !== undefined;
  const name = ref.name ?? "";
  const data = isSecret
    ? dataOfSecret(sources.secret(name))
    : dataOfConfigMap(sources.configMap(name));
  if (data === undefined) {
    if (ref.optional) return undefined;
    throw new MissingSource(notFound(isSecret ? "secret" : "configmap", name));
  }
  const value = data.get(ref.key);
  if (value !== undefined) return value;
  if (ref.optional) return undefined;
  const kind = isSecret ? "Secret" : "ConfigMap";
  throw new MissingSource(
    `couldn't find key ${ref.key} in ${kind} ${pod.metadata.namespace ?? ""}/${name}`,
  );
}

function notFound(resource: string, name: string): string {
  return `${resource} "${name}" not found`;
}

function dataOfConfigMap(object: ConfigMap | undefined): Map<string, string> | undefined {
  return object === undefined ? undefined : new Map(Object.entries(object.data ?? {}));
}

function dataOfSecret(object: Secret | undefined): Map<string, string> | undefined {
  if (object === undefined) return undefined;
  const decoded = Object.entries(object.data ?? {}).map(
    ([key, value]) => [key, decode(value)] as const,
  );
  return new Map(decoded);
}

function decode(base64: string): string {
  const binary = atob(base64);
  return new TextDecoder().decode(Uint8Array.from(binary, (char) => char.charCodeAt(0)));
}
