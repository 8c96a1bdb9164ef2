/** A volume whose files come from several sources, which must not claim the same path. */
import type {
  ProjectedVolumeSource,
  ServiceAccountTokenProjection,
  VolumeProjection,
} from "#api/generated/core.v1.ts";
import { type FieldError, forbidden, invalid, required } from "#api/validation/field-error.ts";
import type { Path } from "#api/validation/path.ts";
import type { PodRules } from "../rules.ts";
import { validateDownwardApiFile, validateKeyToPath, validateMode } from "./file-volumes.ts";
import { validateLocalPath } from "./local-path.ts";
import { validateCertificateSource, validateTrustBundleSource } from "./projected-certificates.ts";

const TOKEN_SECONDS_MIN = 10 * 60;
const TOKEN_SECONDS_MAX = 2 ** 32;

export function validateProjected(
  { sources, defaultMode }: ProjectedVolumeSource,
  rules: PodRules,
  path: Path,
  errors: FieldError[],
): void {
  validateMode(defaultMode, path.child("defaultMode"), errors);
  const files = new Files(path, errors);
  for (const [i, source] of (sources ?? []).entries()) {
    const at = path.child("sources").index(i);
    validateSource(source, rules, files, at, errors);
    if (countGiven(source) > 1) {
      errors.push(forbidden(at, "may not specify more than 1 volume type per source"));
    }
  }
}

function countGiven(source: VolumeProjection): number {
  let count = 0;
  for (const part of Object.values(source)) if (part !== undefined) count++;
  return count;
}

/** The paths that the sources have taken so far. */
class Files {
  readonly #taken = new Set<string>();
  readonly #volumePath: Path;
  readonly #errors: FieldError[];

  constructor(volumePath: Path, errors: FieldError[]) {
    this.#volumePath = volumePath;
    this.#errors = errors;
  }

  get volumePath(): Path {
    return this.#volumePath;
  }

  take(file: string, blamed: string): void {
    if (this.#taken.has(file)) {
      this.#errors.push(invalid(this.#volumePath, blamed, "conflicting duplicate paths"));
    }
    this.#taken.add(file);
  }
}

function validateSource(
  source: VolumeProjection,
  rules: PodRules,
  files: Files,
  path: Path,
  errors: FieldError[],
): void {
  for (const field of ["secret", "configMap"] as const) {
    if (source[field] === undefined) continue;
    const { name = "", items = [] } = source[field];
    const at = path.child(field);
    if (name === "") errors.push(required(at.child("name"), ""));
    for (const [i, item] of items.entries()) {
      validateKeyToPath(item, at.child("items").index(i), errors);
      if (item.path !== "") files.take(item.path, name);
    }
  }
  for (const file of source.downwardAPI?.items ?? []) {
    validateDownwardApiFile(file, path.child("downwardAPI"), errors);
    if (file.path !== "") files.take(file.path, file.path);
  }
  if (source.serviceAccountToken !== undefined) {
    validateToken(source.serviceAccountToken, rules, files, path, errors);
  }
  const take = (file: string): void => files.take(file, file);
  const { clusterTrustBundle, podCertificate } = source;
  if (clusterTrustBundle !== undefined) {
    const at = path.child("clusterTrustBundle");
    validateTrustBundleSource(clusterTrustBundle, take, at, errors);
  }
  if (podCertificate !== undefined) {
    validateCertificateSource(podCertificate, take, path.child("podCertificate"), errors);
  }
}

function validateToken(
  { expirationSeconds = 0, path: file }: ServiceAccountTokenProjection,
  { allowNonLocalTokenPath }: PodRules,
  files: Files,
  path: Path,
  errors: FieldError[],
): void {
  const at = path.child("serviceAccountToken", "expirationSeconds");
  if (expirationSeconds < TOKEN_SECONDS_MIN) {
    const detail = "may not specify a duration less than 10 minutes";
    errors.push(invalid(at, expirationSeconds, detail));
  }
  if (expirationSeconds > TOKEN_SECONDS_MAX) {
    const detail = "may not specify a duration larger than 2^32 seconds";
    errors.push(invalid(at, expirationSeconds, detail));
  }
  const filePath = files.volumePath.child("path");
  if (file === "") errors.push(required(filePath, ""));
  else if (!allowNonLocalTokenPath) validateLocalPath(file, filePath, errors);
}
