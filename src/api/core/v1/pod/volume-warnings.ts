/** Sources of volumes that are gone, and files of volumes that get into each other's way. */

import type { PodSpec, Volume, VolumeProjection, VolumeSource } from "#api/generated/core.v1.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import type { Path } from "#api/validation/path.ts";
import { claimSpecWarnings } from "./claim-template.ts";

interface Deprecation {
  readonly field: keyof VolumeSource;
  readonly message: string;
  readonly shownAs?: string;
}

const DEPRECATIONS: readonly Deprecation[] = [
  { field: "photonPersistentDisk", message: "deprecated in v1.11, non-functional in v1.16+" },
  { field: "gitRepo", message: "deprecated in v1.11, and disabled by default in v1.33+" },
  { field: "scaleIO", message: "deprecated in v1.16, non-functional in v1.22+" },
  { field: "flocker", message: "deprecated in v1.22, non-functional in v1.25+" },
  {
    field: "storageos",
    message: "deprecated in v1.22, non-functional in v1.25+",
    shownAs: "storageOS",
  },
  { field: "quobyte", message: "deprecated in v1.22, non-functional in v1.25+" },
  { field: "glusterfs", message: "deprecated in v1.25, non-functional in v1.26+" },
  { field: "cephfs", message: "deprecated in v1.28, non-functional in v1.31+" },
  { field: "rbd", message: "deprecated in v1.28, non-functional in v1.31+" },
];

export function volumeWarnings({ volumes = [] }: PodSpec, path: Path): string[] {
  return volumes.flatMap((volume, i) => {
    const at = path.child("volumes").index(i);
    const gone = DEPRECATIONS.filter(({ field }) => volume[field] !== undefined).map(
      ({ field, message, shownAs = field }) => `${at.child(shownAs)}: ${message}`,
    );
    const claim = volume.ephemeral?.volumeClaimTemplate?.spec;
    if (claim === undefined) return gone;
    const claimPath = at.child("ephemeral", "volumeClaimTemplate", "spec");
    return [...gone, ...claimSpecWarnings(claim, claimPath)];
  });
}

/** A file, and in a volume of several sources where it comes from. */
interface File {
  readonly path: string;
  readonly source: string;
}

export function pathOverlapWarnings({ volumes = [] }: PodSpec): string[] {
  return volumes.flatMap((volume) => {
    const { name, configMap, secret, downwardAPI } = volume;
    return [
      ...overlaps(name, `ConfigMap ${goQuote(configMap?.name ?? "")}`, filesOf(configMap?.items)),
      ...overlaps(name, `Secret ${goQuote(secret?.secretName ?? "")}`, filesOf(secret?.items)),
      ...overlaps(name, "DownwardAPI", filesOf(downwardAPI?.items)),
      ...projectedWarnings(volume),
    ];
  });
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
