/** The files of configMap, secret, downwardAPI and projected volumes. */
import type {
  ClusterTrustBundleProjection,
  ConfigMap,
  DownwardAPIVolumeFile,
  KeyToPath,
  Pod,
  PodCertificateProjection,
  Secret,
  VolumeProjection,
} from "#api/generated/core.v1.ts";
import type { FileContent } from "#host/atomic-folder.ts";
import { podField, resourceField } from "#kubelet/decide/inputs/downward-api.ts";
import { messageOf } from "#lib/caught.ts";
import { VolumeError, type VolumeRequest, type VolumeTools } from "./volume-plugin.ts";

export const DEFAULT_MODE = 0o644;

export interface Payload {
  readonly files: ReadonlyMap<string, FileContent>;
  readonly refreshAtMs: number | undefined;
}

/** Later sources overwrite files of earlier ones. Throws with the faults of all sources. */
export async function composePayload(
  sources: readonly VolumeProjection[],
  defaultMode: number,
  request: VolumeRequest,
  tools: VolumeTools,
): Promise<Payload> {
  const files = new Map<string, FileContent>();
  const faults: string[] = [];
  let refreshAtMs = Number.POSITIVE_INFINITY;
  for (const [sourceIndex, source] of sources.entries()) {
    try {
      const content = { files, defaultMode, request, tools, sourceIndex };
      refreshAtMs = Math.min(refreshAtMs, await addSource(source, content));
    } catch (error) {
      faults.push(messageOf(error));
    }
  }
  if (faults.length > 0) {
    throw new VolumeError(faults.length === 1 ? faults[0]! : `[${faults.join(", ")}]`);
  }
  return { files, refreshAtMs: Number.isFinite(refreshAtMs) ? refreshAtMs : undefined };
}

interface Content {
  readonly files: Map<string, FileContent>;
  readonly defaultMode: number;
  readonly request: VolumeRequest;
  readonly tools: VolumeTools;
  readonly sourceIndex: number;
}

/** Answers when the source should be looked at again, whatever happens; Infinity for never. */
async function addSource(source: VolumeProjection, content: Content): Promise<number> {
  const { files, defaultMode, request, tools } = content;
  const { pod } = request;
  if (source.configMap) {
    const { name = "", items, optional = false } = source.configMap;
    const object = await tools.objects.configMap(namespaceOf(pod), name);
    addData(files, dataOfConfigMap(object), { items, optional, defaultMode }, "configmap", name);
  } else if (source.secret) {
    const { name = "", items, optional = false } = source.secret;
    const object = await tools.objects.secret(namespaceOf(pod), name);
    addData(files, dataOfSecret(object), { items, optional, defaultMode }, "secret", name);
  } else if (source.downwardAPI) {
    addFields(files, source.downwardAPI.items ?? [], defaultMode, request);
  } else if (source.serviceAccountToken) {
    const { path, audience, expirationSeconds } = source.serviceAccountToken;
    const { token, renewAtMs } = await tools.tokens.get(pod, { audience, expirationSeconds });
    files.set(path, ownFile(token, pod, defaultMode));
    return renewAtMs;
  } else if (source.clusterTrustBundle) {
    const text = await trustAnchors(source.clusterTrustBundle, pod, tools);
    files.set(source.clusterTrustBundle.path, ownFile(text, pod, defaultMode));
  } else if (source.podCertificate) {
    return addCertificate(source.podCertificate, content);
  }
  return Number.POSITIVE_INFINITY;
}

async function trustAnchors(
  { name, signerName, labelSelector, optional = false }: ClusterTrustBundleProjection,
  { metadata: { uid = "" } }: Pod,
  { trustBundles }: VolumeTools,
): Promise<string> {
  if (name !== undefined) return trustBundles.byName(uid, name, optional);
  if (signerName !== undefined) {
    return trustBundles.bySigner(uid, signerName, labelSelector, optional);
  }
  throw new VolumeError(
    "ClusterTrustBundle projection requires either name or signerName to be set",
  );
}

async function addCertificate(
  projection: PodCertificateProjection,
  { files, defaultMode, request: { pod, volume }, tools, sourceIndex }: Content,
): Promise<number> {
  const source = { pod, volumeName: volume.name, sourceIndex, projection };
  const { key, chain, lookAtMs } = await tools.certificates.get(source);
  const { credentialBundlePath, keyPath, certificateChainPath } = projection;
  const add = (path: string | undefined, text: string): void => {
    if (path) files.set(path, ownFile(text, pod, defaultMode));
  };
  add(credentialBundlePath, key + chain);
  add(keyPath, key);
  add(certificateChainPath, chain);
  return lookAtMs;
}

function ownFile(text: string, pod: Pod, defaultMode: number): FileContent {
  return { bytes: Buffer.from(text), ...ownerOf(pod, defaultMode) };
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

/** One user of all containers owns a credential alone; a group of the volume may read it. */
function ownerOf({ spec }: Pod, defaultMode: number): { mode: number; uid?: number } {
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
