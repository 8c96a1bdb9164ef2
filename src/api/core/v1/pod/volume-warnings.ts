/** Sources of volumes that are gone, and files of volumes that get into each other's way. */

import type { PodSpec, Volume, VolumeProjection, VolumeSource } from "#api/generated/core.v1.ts";
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

export function volumeWarnings({ volumes = [] }: PodSpec, path: Path): string[] {
  const warnings: string[] = [];
  for (const [i, volume] of volumes.entries()) {
    for (const field of Object.keys(volume)) {
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
  return warnings;
}

/** A file, and in a volume of several sources where it comes from. */
interface File {
  readonly path: string;
  readonly source: string;
}

export function pathOverlapWarnings({ volumes = [] }: PodSpec): string[] {
  const warnings: string[] = [];
  for (const volume of volumes) {
    const { name, configMap, secret, downwardAPI, projected } = volume;
    if (configMap?.items !== undefined) {
      const what = `ConfigMap ${goQuote(configMap.name ?? "")}`;
      warnings.push(...overlaps(name, what, filesOf(configMap.items)));
    }
    if (secret?.items !== undefined) {
      const what = `Secret ${goQuote(secret.secretName ?? "")}`;
      warnings.push(...overlaps(name, what, filesOf(secret.items)));
    }
    if (downwardAPI?.items !== undefined) {
      warnings.push(...overlaps(name, "DownwardAPI", filesOf(downwardAPI.items)));
    }
    if (projected !== undefined) warnings.push(...projectedWarnings(volume));
  }
  return warnings;
}

function projectedWarnings({ name, projected }: Volume): string[] {
  const sources = projected?.sources ?? [];
  const empty = sources
    .filter((source) => Object.values(source).every((part) => part === undefined))
    .map(() => `volume ${goQuote(name)} (Projected) has no sources provided`);
  return [...empty, ...overlaps(name, "Projected", sources.flatMap(projectedFiles))];
}

function projectedFiles(source: VolumeProjection): File[] {
  const { configMap, secret, downwardAPI, serviceAccountToken } = source;
  if (configMap?.items !== undefined) {
    return filesOf(configMap.items, `ConfigMap ${goQuote(configMap.name ?? "")}`);
  }
  if (secret?.items !== undefined) {
    return filesOf(secret.items, `Secret ${goQuote(secret.name ?? "")}`);
  }
  if (downwardAPI?.items !== undefined) return filesOf(downwardAPI.items, "DownwardAPI");
  if (serviceAccountToken === undefined) return [];
  return [{ path: serviceAccountToken.path, source: "ServiceAccountToken" }];
}

function filesOf(items: readonly { readonly path: string }[] = [], source = ""): File[] {
  return items.map(({ path }) => ({ path, source }));
}

/** Two files at the same path, or one where the other needs a folder. */
function overlaps(volume: string, what: string, files: readonly File[]): string[] {
  const trimmed = files.map(({ path, source }) => ({ path: path.replace(/\/+$/, ""), source }));
  return trimmed.flatMap((file, i) =>
    trimmed
      .slice(0, i)
      .filter((other) => collide(file.path, other.path))
      .map(
        (other) =>
          `volume ${goQuote(volume)} (${what}): overlapping paths: ${show(file)} with ${show(other)}`,
      ),
  );
}

function collide(a: string, b: string): boolean {
  if (a === "" || b === "") return false;
  return `${a}/`.startsWith(`${b}/`) || `${b}/`.startsWith(`${a}/`);
}

function show({ path, source }: File): string {
  return source === "" ? goQuote(path) : `${goQuote(path)} (${source})`;
}
