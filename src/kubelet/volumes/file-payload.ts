/** The files of configMap, secret, downwardAPI and projected volumes. */
import type {
  ConfigMap,
  DownwardAPIVolumeFile,
  KeyToPath,
  Pod,
  Secret,
  VolumeProjection,
} from "#api/generated/core.v1.ts";
import type { FileContent } from "#host/atomic-folder.ts";
import { podField, resourceField } from "#kubelet/decide/inputs/downward-api.ts";
import { VolumeError, type VolumeRequest, type VolumeTools } from "./volume-plugin.ts";

export const DEFAULT_MODE = 0o644;

export interface Payload {
  readonly files: ReadonlyMap<string, FileContent>;
  readonly refreshAtMs: number | undefined;
}

/** Later sources overwrite files of earlier ones. */
export async function composePayload(
  sources: readonly VolumeProjection[],
  defaultMode: number,
  request: VolumeRequest,
  tools: VolumeTools,
): Promise<Payload> {
  const files = new Map<string, FileContent>();
  let refreshAtMs: number | undefined;
  for (const source of sources) {
    if (source.configMap) {
      const { name = "", items, optional = false } = source.configMap;
      const object = await tools.objects.configMap(namespaceOf(request.pod), name);
      addData(files, dataOfConfigMap(object), { items, optional, defaultMode }, "configmap", name);
    } else if (source.secret) {
      const { name = "", items, optional = false } = source.secret;
      const object = await tools.objects.secret(namespaceOf(request.pod), name);
      addData(files, dataOfSecret(object), { items, optional, defaultMode }, "secret", name);
    } else if (source.downwardAPI) {
      addFields(files, source.downwardAPI.items ?? [], defaultMode, request);
    } else if (source.serviceAccountToken) {
      const { path, audience, expirationSeconds } = source.serviceAccountToken;
      const { token, renewAtMs } = await tools.tokens.get(request.pod, {
        audience,
        expirationSeconds,
      });
      files.set(path, { bytes: Buffer.from(token), ...tokenOwner(request.pod, defaultMode) });
      refreshAtMs = Math.min(refreshAtMs ?? renewAtMs, renewAtMs);
    } else {
      throw new VolumeError(
        `${Object.keys(source).join()} is not supported in projected volumes of this kubelet`,
      );
    }
  }
  return { files, refreshAtMs };
}

function namespaceOf({ metadata }: Pod): string {
  return metadata.namespace ?? "";
}

interface DataOptions {
  readonly items: readonly KeyToPath[] | undefined;
  readonly optional: boolean;
  readonly defaultMode: number;
}

function addData(
  files: Map<string, FileContent>,
  data: ReadonlyMap<string, Uint8Array> | undefined,
  { items, optional, defaultMode }: DataOptions,
  resource: string,
  name: string,
): void {
  if (data === undefined) {
    if (optional) return;
    throw new VolumeError(`${resource} "${name}" not found`);
  }
  if (items === undefined || items.length === 0) {
    for (const [key, bytes] of data) files.set(key, { bytes, mode: defaultMode });
    return;
  }
  for (const { key, path, mode = defaultMode } of items) {
    const bytes = data.get(key);
    if (bytes !== undefined) files.set(path, { bytes, mode });
    else if (!optional) throw new VolumeError(`references non-existent config key: ${key}`);
  }
}

function addFields(
  files: Map<string, FileContent>,
  items: readonly DownwardAPIVolumeFile[],
  defaultMode: number,
  { pod, place }: VolumeRequest,
): void {
  for (const { path, fieldRef, resourceFieldRef, mode = defaultMode } of items) {
    let text = "";
    if (fieldRef) text = podField(pod, fieldRef.fieldPath, place);
    else if (resourceFieldRef) {
      const all = [...(pod.spec.initContainers ?? []), ...(pod.spec.containers ?? [])];
      const container = all.find(({ name }) => name === resourceFieldRef.containerName);
      if (container === undefined) {
        throw new VolumeError(`unable to find container ${resourceFieldRef.containerName ?? ""}`);
      }
      text = resourceField(resourceFieldRef, container, place);
    }
    files.set(path, { bytes: Buffer.from(text), mode });
  }
}

/** One user of all containers owns the token alone; a group of the volume may read it. */
function tokenOwner({ spec }: Pod, defaultMode: number): { mode: number; uid?: number } {
  if (spec.securityContext?.fsGroup !== undefined) return { mode: 0o600 };
  const containers = [...(spec.initContainers ?? []), ...(spec.containers ?? [])];
  const users = new Set(
    containers.map(
      ({ securityContext }) => securityContext?.runAsUser ?? spec.securityContext?.runAsUser,
    ),
  );
  const [uid] = users;
  return users.size === 1 && uid !== undefined ? { mode: 0o600, uid } : { mode: defaultMode };
}

function dataOfConfigMap(object: ConfigMap | undefined): Map<string, Uint8Array> | undefined {
  if (object === undefined) return undefined;
  const text = Object.entries(object.data ?? {}).map(([key, value]): [string, Uint8Array] => [
    key,
    Buffer.from(value),
  ]);
  return new Map([...text, ...decoded(object.binaryData)]);
}

function dataOfSecret(object: Secret | undefined): Map<string, Uint8Array> | undefined {
  return object === undefined ? undefined : new Map(decoded(object.data));
}

function decoded(data: Readonly<Record<string, string>> | undefined): [string, Uint8Array][] {
  return Object.entries(data ?? {}).map(([key, value]) => [key, Buffer.from(value, "base64")]);
}
