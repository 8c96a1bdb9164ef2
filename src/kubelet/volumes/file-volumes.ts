/**
 * configMap, secret, downwardAPI and projected volumes: folders whose files change all at once when
 * an object changes. Those with secrets in them live in memory.
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Volume, VolumeProjection } from "#api/generated/core.v1.ts";
import { type FileContent, writeAtomicFolder } from "#host/atomic-folder.ts";
import { pathExists, readTextIfPresent, writeFileWhole } from "#host/files.ts";
import { composePayload, DEFAULT_MODE } from "./file-payload.ts";
import { makeVolumeFolder } from "./volume-folder.ts";
import type { VolumePlugin, VolumeRequest } from "./volume-plugin.ts";

interface FileSource {
  readonly sources: readonly VolumeProjection[];
  readonly defaultMode: number;
  readonly inMemory: boolean;
}

export const fileVolumes: readonly VolumePlugin[] = [
  filePlugin("kubernetes.io/configmap", ({ configMap }) => {
    if (configMap === undefined) return undefined;
    const { name = "", items, optional, defaultMode } = configMap;
    const projection = { name, ...(items && { items }), ...(optional && { optional }) };
    return source([{ configMap: projection }], defaultMode, false);
  }),
  filePlugin("kubernetes.io/secret", ({ secret }) => {
    if (secret === undefined) return undefined;
    const { secretName: name = "", items, optional, defaultMode } = secret;
    const projection = { name, ...(items && { items }), ...(optional && { optional }) };
    return source([{ secret: projection }], defaultMode, true);
  }),
  filePlugin("kubernetes.io/downward-api", ({ downwardAPI }) => {
    if (downwardAPI === undefined) return undefined;
    const { items = [], defaultMode } = downwardAPI;
    return source([{ downwardAPI: { items } }], defaultMode, true);
  }),
  filePlugin("kubernetes.io/projected", ({ projected }) =>
    projected === undefined
      ? undefined
      : source(projected.sources ?? [], projected.defaultMode, true),
  ),
];

function source(
  sources: readonly VolumeProjection[],
  defaultMode = DEFAULT_MODE,
  inMemory: boolean,
): FileSource {
  return { sources, defaultMode, inMemory };
}

function filePlugin(
  name: string,
  sourceOf: (volume: Volume) => FileSource | undefined,
): VolumePlugin {
  return {
    name,
    accepts: ({ volume }) => sourceOf(volume) !== undefined,
    async setUp(request, tools) {
      const { sources, defaultMode, inMemory } = sourceOf(request.volume)!;
      const payload = await composePayload(sources, defaultMode, request, tools);
      await makeVolumeFolder(request.folder, { inMemory });
      await writeIfChanged(request, payload.files, tools.clock.nowMs());
      const { refreshAtMs } = payload;
      return { hostPath: request.folder, readOnly: request.readOnly, refreshAtMs };
    },
  };
}

/** A digest of what was written last lies beside the folder; it does not disclose the content. */
async function writeIfChanged(
  { pod, folder }: VolumeRequest,
  files: ReadonlyMap<string, FileContent>,
  nowMs: number,
): Promise<void> {
  const gid = pod.spec.securityContext?.fsGroup;
  const readable = gid === undefined ? files : withGroup(files);
  const digest = digestOf(readable, gid);
  const markPath = `${folder}.digest`;
  const isThere = await pathExists(join(folder, "..data")); // memory does not survive a reboot
  if (isThere && (await readTextIfPresent(markPath)) === digest) return;
  const stamp = `${new Date(nowMs).toISOString().replace(/[-:TZ]/g, "_")}${digest.slice(0, 9)}`;
  await writeAtomicFolder(folder, { files: readable, gid, stamp });
  await writeFileWhole(markPath, digest, { mode: 0o600 });
}

/** Members of the group may read what the owner may read. */
function withGroup(files: ReadonlyMap<string, FileContent>): Map<string, FileContent> {
  return new Map([...files].map(([path, file]) => [path, { ...file, mode: file.mode | 0o440 }]));
}

function digestOf(files: ReadonlyMap<string, FileContent>, gid: number | undefined): string {
  const hash = createHash("sha256").update(String(gid));
  for (const [path, { bytes, mode, uid }] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) {
    hash.update(JSON.stringify([path, mode, uid, bytes.length])).update(bytes);
  }
  return hash.digest("hex");
}
