/** Seccomp and AppArmor profiles: as fields, and as the annotations that came before the fields. */
import type {
  AppArmorProfile,
  PodSpec,
  SeccompProfile,
  SecurityContext,
} from "#api/generated/core.v1.ts";
import type { ObjectMeta } from "#api/generated/meta.v1.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import {
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
  tooLong,
} from "#api/validation/field-error.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import type { Path } from "#api/validation/path.ts";
import { utf8Length } from "#lib/text/utf8-length.ts";
import { placedContainers } from "../containers/containers.ts";
import { validateDescendingPath } from "../volumes/local-path.ts";

export const SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod";
export const SECCOMP_PREFIX = "container.seccomp.security.alpha.kubernetes.io/";
export const APPARMOR_PREFIX = "container.apparmor.security.beta.kubernetes.io/";
const LOCALHOST_PREFIX = "localhost/";
const TYPES = ["Localhost", "RuntimeDefault", "Unconfined"];
const LOCALHOST_PROFILE_MAX = 4095;

type Annotations = Readonly<Record<string, string>>;

export function validateSeccompProfile(
  profile: SeccompProfile | undefined,
  path: Path,
  errors: FieldError[],
): void {
  if (profile === undefined) return;
  const { type, localhostProfile } = profile;
  if (type === "") {
    errors.push(required(path.child("type"), "type is required when seccompProfile is set"));
  } else if (!TYPES.includes(type)) {
    errors.push(notSupported(path.child("type"), type, TYPES));
  }
  const at = path.child("localhostProfile");
  if (type !== "Localhost") {
    if (localhostProfile === undefined) return;
    const shown = internalForm("core.v1.SeccompProfile", profile);
    errors.push(invalid(at, shown, "can only be set when seccomp type is Localhost"));
  } else if (localhostProfile === undefined) {
    errors.push(required(at, "must be set when seccomp type is Localhost"));
  } else validateDescendingPath(localhostProfile, at, errors);
}

export function validateAppArmorProfile(
  profile: AppArmorProfile | undefined,
  path: Path,
  errors: FieldError[],
): void {
  if (profile === undefined) return;
  const { type, localhostProfile } = profile;
  const at = path.child("localhostProfile");
  if (type === "") {
    errors.push(required(path.child("type"), "type is required when appArmorProfile is set"));
  } else if (!TYPES.includes(type)) {
    errors.push(notSupported(path.child("type"), type, TYPES));
  } else if (type !== "Localhost") {
    if (localhostProfile === undefined) return;
    errors.push(invalid(at, localhostProfile, "can only be set when AppArmor type is Localhost"));
  } else if (localhostProfile === undefined || localhostProfile === "") {
    errors.push(required(at, "must be set when AppArmor type is Localhost"));
  } else {
    if (localhostProfile.trim() !== localhostProfile) {
      errors.push(invalid(at, localhostProfile, "must not be padded with whitespace"));
    }
    if (utf8Length(localhostProfile) > LOCALHOST_PROFILE_MAX) {
      errors.push(tooLong(at, LOCALHOST_PROFILE_MAX));
    }
  }
}

export function validateSeccompAnnotations(
  annotations: Annotations,
  path: Path,
  errors: FieldError[],
): void {
  const pod = annotations[SECCOMP_POD];
  if (pod !== undefined) validateSeccompText(pod, path.child(SECCOMP_POD), errors);
  for (const key of Object.keys(annotations)) {
    if (!key.startsWith(SECCOMP_PREFIX)) continue;
    validateSeccompText(annotations[key]!, path.child(key), errors);
  }
}

/** The fault of an AppArmor annotation's value. */
export function validateAppArmorText(profile: string): string | undefined {
  const known = ["", "runtime/default", "unconfined"].includes(profile);
  if (known || profile.startsWith(LOCALHOST_PREFIX)) return undefined;
  return `invalid AppArmor profile name: ${goQuote(profile)}`;
}

/** The field that an AppArmor annotation stands for; undefined if it says nothing usable. */
export function appArmorProfileOf(annotation: string): AppArmorProfile | undefined {
  if (annotation === "unconfined") return { type: "Unconfined" };
  if (annotation === "runtime/default") return { type: "RuntimeDefault" };
  if (!annotation.startsWith(LOCALHOST_PREFIX) || annotation === LOCALHOST_PREFIX) return undefined;
  return { type: "Localhost", localhostProfile: annotation.slice(LOCALHOST_PREFIX.length) };
}

/** Where a new pod says the same thing twice, both must agree. */
export function validateProfilesMatchAnnotations(
  { annotations }: ObjectMeta,
  spec: PodSpec,
  path: Path,
  errors: FieldError[],
): void {
  if (annotations === undefined || !Object.keys(annotations).some(isProfile)) return;
  const podSeccomp = spec.securityContext?.seccompProfile;
  const podAnnotation = annotations[SECCOMP_POD];
  if (podSeccomp !== undefined && podAnnotation !== undefined) {
    const at = path.child("securityContext", "seccompProfile");
    validateMatch("seccomp", podSeccomp, podAnnotation, at, errors);
  }
  for (const { container, path: at } of placedContainers(spec, path)) {
    const field = container.securityContext?.seccompProfile;
    const annotation = annotations[`${SECCOMP_PREFIX}${container.name}`];
    if (field === undefined || annotation === undefined) continue;
    const fieldPath = at.child("securityContext", "seccompProfile");
    validateMatch("seccomp", field, annotation, fieldPath, errors);
  }
  if (spec.os?.name === "windows") return;
  for (const { container, path: at } of placedContainers(spec, path)) {
    const own: SecurityContext | undefined = container.securityContext;
    const field = own?.appArmorProfile ?? spec.securityContext?.appArmorProfile;
    const annotation = annotations[`${APPARMOR_PREFIX}${container.name}`];
    if (field === undefined || annotation === undefined) continue;
    const fieldPath = at.child("securityContext", "appArmorProfile");
    validateMatch("apparmor", field, annotation, fieldPath, errors);
  }
}

function isProfile(key: string): boolean {
  return key === SECCOMP_POD || key.startsWith(SECCOMP_PREFIX) || key.startsWith(APPARMOR_PREFIX);
}

function validateSeccompText(profile: string, path: Path, errors: FieldError[]): void {
  if (["runtime/default", "docker/default", "unconfined"].includes(profile)) return;
  if (profile.startsWith(LOCALHOST_PREFIX)) {
    validateDescendingPath(profile.slice(LOCALHOST_PREFIX.length), path, errors);
  } else errors.push(invalid(path, profile, "must be a valid seccomp profile"));
}

function validateMatch(
  what: "seccomp" | "apparmor",
  { type, localhostProfile }: SeccompProfile | AppArmorProfile,
  annotation: string,
  path: Path,
  errors: FieldError[],
): void {
  if (!sameType(what, type, annotation)) {
    const detail = `${what} type in annotation and field must match`;
    errors.push(forbidden(path.child("type"), detail));
  } else if (
    type === "Localhost" &&
    annotation.slice(LOCALHOST_PREFIX.length) !== localhostProfile
  ) {
    const detail = `${what} profile in annotation and field must match`;
    errors.push(forbidden(path.child("localhostProfile"), detail));
  }
}

function sameType(what: "seccomp" | "apparmor", type: string, annotation: string): boolean {
  switch (type) {
    case "Unconfined":
      return annotation === "unconfined";
    case "RuntimeDefault":
      return (
        annotation === "runtime/default" || (what === "seccomp" && annotation === "docker/default")
      );
    case "Localhost":
      return annotation.startsWith(LOCALHOST_PREFIX);
    default:
      return true;
  }
}
