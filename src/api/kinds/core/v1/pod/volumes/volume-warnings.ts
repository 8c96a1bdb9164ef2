/** Sources of volumes that are gone, and files of volumes that get into each other's way. */

import type { PodSpec, VolumeProjection, VolumeSource } from "#api/generated/core.v1.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import type { Path } from "#api/validation/path.ts";
import { claimSpecWarnings } from "./claim-template.ts";

interface Deprecation {
  readonly message: string;
  readonly shownAs?: string;
}

const SINCE_22 = "deprecated in v1.22, non-functional in v1.25+";
const SINCE_28 = "deprecated in v1.28, non-functional in v1.31+";

const DEPRECATIONS: ReadonlyMap<string, Deprecation> = new Map<keyof VolumeSource, Deprecation>([
  ["photonPersistentDisk", { message: "deprecated in v1.11, non-functional in v1.16+" }],
  ["gitRepo", { message: "deprecated in v1.11, and disabled by default in v1.33+" }],
  ["scaleIO", { message: "deprecated in v1.16, non-functional in v1.22+" }],
  ["flocker", { message: SINCE_22 }],
  ["storageos", { message: SINCE_22, shownAs: "storageOS" }],
  ["quobyte", { message: SINCE_22 }],
  ["glusterfs", { message: "deprecated in v1.25, non-functional in v1.26+" }],
  ["cephfs", { message: SINCE_28 }],
  ["rbd", { message: SINCE_28 }],
]);

export function volumeWarnings({ volumes }: PodSpec, path: Path, warnings: string[]): void {
  if (volumes === undefined) return;
  for (const [i, volume] of volumes.entries()) {
    for (const field in volume) {
      const gone = DEPRECATIONS.get(field);
      if (gone === undefined) continue;
      const at = path
        .child("volumes")
        .index(i)
        .child(gone.shownAs ?? field);
      warnings.push(`${at}: ${gone.message}`);
    }
    const claim = volume.ephemeral?.volumeClaimTemplate?.spec;
    if (claim === undefined) continue;
    const at = path.child("volumes").index(i).child("ephemeral", "volumeClaimTemplate", "spec");
    warnings.push(...claimSpecWarnings(claim, at));
  }
}

/** A file, and in a volume of several sources where it comes from. */
interface File {
  readonly path: string;
  readonly source?: VolumeProjection;
}

export function pathOverlapWarnings({ volumes }: PodSpec, warnings: string[]): void {
  if (volumes === undefined) return;
  for (const { name, configMap, secret, downwardAPI, projected } of volumes) {
    if (configMap?.items !== undefined) {
      const what = (): string => `ConfigMap ${goQuote(configMap.name ?? "")}`;
      overlaps(name, what, filesOf(configMap.items), warnings);
    }
    if (secret?.items !== undefined) {
      const what = (): string => `Secret ${goQuote(secret.secretName ?? "")}`;
      overlaps(name, what, filesOf(secret.items), warnings);
    }
    if (downwardAPI?.items !== undefined) {
      overlaps(name, () => "DownwardAPI", filesOf(downwardAPI.items), warnings);
    }
    if (projected?.sources) projectedWarnings(name, projected.sources, warnings);
  }
}

function projectedWarnings(
  name: string,
  sources: readonly VolumeProjection[],
  warnings: string[],
): void {
  const files: File[] = [];
  for (const source of sources) {
    if (isEmpty(source)) {
      warnings.push(`volume ${goQuote(name)} (Projected) has no sources provided`);
    }
    addProjectedFiles(source, files);
  }
  overlaps(name, () => "Projected", files, warnings);
}

function isEmpty(source: VolumeProjection): boolean {
  for (const field in source) {
    if (source[field as keyof VolumeProjection] !== undefined) return false;
  }
  return true;
}

function addProjectedFiles(source: VolumeProjection, files: File[]): void {
  const { configMap, secret, downwardAPI, serviceAccountToken } = source;
  if (configMap?.items !== undefined) addFiles(configMap.items, source, files);
  else if (secret?.items !== undefined) addFiles(secret.items, source, files);
  else if (downwardAPI?.items !== undefined) addFiles(downwardAPI.items, source, files);
  else if (serviceAccountToken !== undefined) addFiles([serviceAccountToken], source, files);
}

function addFiles(
  items: readonly { readonly path: string }[],
  source: VolumeProjection,
  files: File[],
): void {
  for (const { path } of items) files.push({ path, source });
}

function filesOf(items: readonly { readonly path: string }[]): File[] {
  return items.map(({ path }) => ({ path }));
}

/** Two files at the same path, or one where the other needs a folder. */
function overlaps(
  volume: string,
  what: () => string,
  files: readonly File[],
  warnings: string[],
): void {
  for (let i = 1; i < files.length; i++) {
    const file = files[i]!;
    for (let j = 0; j < i; j++) {
      const other = files[j]!;
      if (!collide(trimmed(file), trimmed(other))) continue;
      const pair = `${show(file)} with ${show(other)}`;
      warnings.push(`volume ${goQuote(volume)} (${what()}): overlapping paths: ${pair}`);
    }
  }
}

function trimmed({ path }: File): string {
  return path.endsWith("/") ? path.replace(/\/+$/, "") : path;
}

/** Paths without slashes at their ends. */
function collide(a: string, b: string): boolean {
  if (a === "" || b === "") return false;
  return a === b || isBelow(a, b) || isBelow(b, a);
}

function isBelow(path: string, folder: string): boolean {
  return path.startsWith(folder) && path[folder.length] === "/";
}

function show(file: File): string {
  const path = goQuote(trimmed(file));
  return file.source === undefined ? path : `${path} (${nameOf(file.source)})`;
}

function nameOf({ configMap, secret, downwardAPI }: VolumeProjection): string {
  if (configMap?.items !== undefined) return `ConfigMap ${goQuote(configMap.name ?? "")}`;
  if (secret?.items !== undefined) return `Secret ${goQuote(secret.name ?? "")}`;
  return downwardAPI?.items === undefined ? "ServiceAccountToken" : "DownwardAPI";
}
