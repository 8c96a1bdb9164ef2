/**
 * Makes container images from folders: an archive in the OCI image layout, which every runtime
 * imports. Nothing is downloaded and no other tool than `tar` is needed.
 */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { removeTree } from "#host/files.ts";
import { mustRun } from "#host/run-program.ts";

/** What a container of the image runs, as the OCI image configuration names it. */
export interface ImageConfig {
  readonly Entrypoint?: readonly string[];
  readonly Cmd?: readonly string[];
  readonly Env?: readonly string[];
  readonly WorkingDir?: string;
  readonly User?: string;
  readonly Labels?: Readonly<Record<string, string>>;
}

export interface ImageSource {
  /** Whole, with registry and tag, under which runtimes look for it: `k8ts.local/demo:1`. */
  readonly name: string;
  /** Becomes the top layer; its files belong to root. */
  readonly folder: string;
  readonly config: ImageConfig;
  /** As OCI names it: `amd64`, `arm64`. */
  readonly architecture: string;
  /** An archive in the OCI layout whose layers lie below. */
  readonly base?: string;
}

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly platform?: { readonly architecture: string; readonly os: string };
}

interface Manifest {
  readonly schemaVersion: 2;
  readonly mediaType: string;
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
}

interface ImageDocument {
  readonly architecture: string;
  readonly os: string;
  readonly config: ImageConfig;
  readonly rootfs: { readonly type: "layers"; readonly diff_ids: readonly string[] };
  readonly history: readonly { readonly created_by?: string }[];
}

const INDEX = "application/vnd.oci.image.index.v1+json";
const MANIFEST = "application/vnd.oci.image.manifest.v1+json";
const CONFIG = "application/vnd.oci.image.config.v1+json";
const LAYER = "application/vnd.oci.image.layer.v1.tar";

/** Writes the archive to `file`. `workFolder` must be on a disk with room for the image. */
export async function writeImageArchive(
  source: ImageSource,
  file: string,
  workFolder: string,
  signal?: AbortSignal,
): Promise<void> {
  await mkdir(workFolder, { recursive: true });
  const layout = await mkdtemp(join(workFolder, "image-"));
  try {
    const below = await layersBelow(source, layout, signal);
    const layer = await packLayer(source.folder, layout, signal);
    const document: ImageDocument = {
      architecture: source.architecture,
      os: "linux",
      config: { ...below.document?.config, ...source.config },
      rootfs: {
        type: "layers",
        diff_ids: [...(below.document?.rootfs.diff_ids ?? []), layer.digest],
      },
      history: [...(below.document?.history ?? []), { created_by: "k8ts image build" }],
    };
    const manifest: Manifest = {
      schemaVersion: 2,
      mediaType: MANIFEST,
      config: await putBlob(layout, CONFIG, JSON.stringify(document)),
      layers: [...below.layers, layer],
    };
    const described = await putBlob(layout, MANIFEST, JSON.stringify(manifest));
    const annotations = {
      "io.containerd.image.name": source.name,
      "org.opencontainers.image.ref.name": tagOf(source.name),
    };
    const platform = { architecture: source.architecture, os: "linux" };
    const index = {
      schemaVersion: 2,
      mediaType: INDEX,
      manifests: [{ ...described, annotations, platform }],
    };
    await writeFile(join(layout, "index.json"), JSON.stringify(index));
    await writeFile(join(layout, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
    await packFolder(layout, file, signal);
  } finally {
    await removeTree(layout);
  }
}

/** OCI's name of a processor that Node names. */
export function ociArchitecture(arch: string): string {
  return arch === "x64" ? "amd64" : arch;
}

/** Makes a tar archive of a folder. The same files always give the same bytes. */
export async function packFolder(
  folder: string,
  file: string,
  signal?: AbortSignal,
): Promise<void> {
  const owner = ["--owner=0", "--group=0", "--numeric-owner"];
  const order = ["--sort=name", "--mtime=@0", "--format=posix"];
  const times = "--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime";
  const args = ["--create", `--file=${file}`, ...owner, ...order, times, "-C", folder, "."];
  await mustRun("tar", args, { signal });
}

/** The layers of the base image, with its blobs in the layout; none without a base. */
async function layersBelow(
  { base, architecture }: ImageSource,
  layout: string,
  signal: AbortSignal | undefined,
): Promise<{ readonly layers: readonly Descriptor[]; readonly document?: ImageDocument }> {
  await mkdir(join(layout, "blobs", "sha256"), { recursive: true });
  if (base === undefined) return { layers: [] };
  await mustRun("tar", ["--extract", `--file=${base}`, "-C", layout], { signal });
  const index = await readJson<{ manifests: readonly Descriptor[] }>(join(layout, "index.json"));
  const manifest = await manifestFor(layout, index.manifests, architecture);
  if (manifest === undefined) {
    throw new Error(`the base image has no manifest for linux/${architecture}`);
  }
  const document = await readJson<ImageDocument>(blobPath(layout, manifest.config.digest));
  return { layers: manifest.layers, document };
}

/** Follows indexes down to the manifest for the processor. */
async function manifestFor(
  layout: string,
  candidates: readonly Descriptor[],
  architecture: string,
): Promise<Manifest | undefined> {
  for (const { digest, platform } of candidates) {
    if (platform !== undefined && platform.architecture !== architecture) continue;
    const document = await readJson<Manifest | { readonly manifests: readonly Descriptor[] }>(
      blobPath(layout, digest),
    ).catch(() => undefined); // an index may name manifests of other platforms that are not here
    if (document === undefined) continue;
    if ("layers" in document) return document;
    const found = await manifestFor(layout, document.manifests, architecture);
    if (found !== undefined) return found;
  }
  return undefined;
}

async function packLayer(
  folder: string,
  layout: string,
  signal: AbortSignal | undefined,
): Promise<Descriptor> {
  const draft = join(layout, "layer.tar");
  await packFolder(folder, draft, signal);
  const hash = createHash("sha256");
  await pipeline(createReadStream(draft), hash);
  const digest = `sha256:${hash.digest("hex")}`;
  const { size } = await stat(draft);
  await rename(draft, blobPath(layout, digest));
  return { mediaType: LAYER, digest, size };
}

async function putBlob(layout: string, mediaType: string, text: string): Promise<Descriptor> {
  const digest = `sha256:${createHash("sha256").update(text).digest("hex")}`;
  await writeFile(blobPath(layout, digest), text);
  return { mediaType, digest, size: Buffer.byteLength(text) };
}

function blobPath(layout: string, digest: string): string {
  const [algorithm = "", hash = ""] = digest.split(":");
  if (!/^[a-z0-9]+$/.test(algorithm) || !/^[a-f0-9]+$/.test(hash)) {
    throw new Error(`invalid digest ${JSON.stringify(digest)}`);
  }
  return join(layout, "blobs", algorithm, hash);
}

async function readJson<T>(path: string): Promise<T> {
  return JSON.parse(await readFile(path, "utf8")) as T;
}

function tagOf(name: string): string {
  const tag = /:([^/:]+)$/.exec(name)?.[1];
  return tag ?? "latest";
}
