/** The volumes of a pod: each has a name of its own and exactly one source. */
import type { PodSpec, Volume, VolumeSource } from "#api/generated/core.v1.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import {
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  required,
} from "#api/validation/field-error.ts";
import { isDns1123Label, nameIsDnsSubdomain } from "#api/validation/names.ts";
import type { Path } from "#api/validation/path.ts";
import { utf8Length } from "#lib/text/utf8-length.ts";
import type { PodRules } from "../rules.ts";
import { type SourceRules, VOLUME_SOURCES } from "./volume-sources.ts";

/**
 * Returns the sources of the well-formed volumes by name. `podName` is needed to know the claims
 * that ephemeral volumes get; templates have none.
 */
export function validateVolumes(
  { volumes = [] }: PodSpec,
  podName: string,
  rules: PodRules,
  path: Path,
  errors: FieldError[],
): ReadonlyMap<string, VolumeSource> {
  const sound = new Map<string, VolumeSource>();
  const ownClaims = podName === "" ? NO_CLAIMS : claimsMade(volumes, podName);
  for (const [i, volume] of volumes.entries()) {
    const at = path.index(i);
    const before = errors.length;
    validateSource(volume, podName, rules, at, errors);
    validateName(volume.name, sound, at.child("name"), errors);
    if (errors.length === before) sound.set(volume.name, volume);
    const claim = volume.persistentVolumeClaim?.claimName;
    if (claim !== undefined && ownClaims.includes(claim)) {
      const detail = "must not reference a PVC that gets created for an ephemeral volume";
      errors.push(invalid(at.child("persistentVolumeClaim", "claimName"), claim, detail));
    }
  }
  return sound;
}

const NO_CLAIMS: readonly string[] = [];

/** The names of the claims that ephemeral volumes get. */
function claimsMade(volumes: readonly Volume[], podName: string): readonly string[] {
  const ephemeral = volumes.filter((volume) => volume.ephemeral !== undefined);
  return ephemeral.map(({ name }) => `${podName}-${name}`);
}

function validateName(
  name: string,
  sound: ReadonlyMap<string, VolumeSource>,
  path: Path,
  errors: FieldError[],
): void {
  if (name === "") errors.push(required(path, ""));
  else for (const fault of isDns1123Label(name)) errors.push(invalid(path, name, fault));
  if (sound.has(name)) errors.push(duplicate(path, name));
}

function validateSource(
  volume: Volume,
  podName: string,
  rules: PodRules,
  path: Path,
  errors: FieldError[],
): void {
  let found = false;
  for (const { field, validate, shownAs = field, rejectedAs = shownAs } of sourcesOf(volume)) {
    const source = volume[field];
    if (found && field !== "emptyDir") {
      errors.push(forbidden(path.child(rejectedAs), "may not specify more than 1 volume type"));
    } else validate(source, rules, path.child(shownAs), errors);
    if (field === "iscsi") validateInitiatorLength(volume, path, errors);
    if (field === "ephemeral" && !found) validateClaimName(volume.name, podName, path, errors);
    found = true;
  }
  if (!found) errors.push(required(path, "must specify a volume type"));
}

/** The rules of the sources that are given, in the order of the table. There should be one. */
function sourcesOf(volume: Volume): readonly SourceRules[] {
  const given: SourceRules[] = [];
  for (const key of Object.keys(volume)) {
    const rules = SOURCES_BY_FIELD.get(key);
    if (rules !== undefined && volume[rules.field] !== undefined) given.push(rules);
  }
  if (given.length < 2) return given;
  return given.sort((a, b) => VOLUME_SOURCES.indexOf(a) - VOLUME_SOURCES.indexOf(b));
}

const SOURCES_BY_FIELD: ReadonlyMap<string, SourceRules> = new Map(
  VOLUME_SOURCES.map((rules) => [rules.field, rules]),
);

const INITIATOR_MAX = 64;

/** The initiator's session is named after volume and portal, and names are short there. */
function validateInitiatorLength({ name, iscsi }: Volume, path: Path, errors: FieldError[]): void {
  if (iscsi?.initiatorName === undefined) return;
  if (utf8Length(`${name}:${iscsi.targetPortal}`) <= INITIATOR_MAX) return;
  const detail =
    "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.";
  errors.push(invalid(path.child("name"), name, detail));
}

function validateClaimName(name: string, podName: string, path: Path, errors: FieldError[]): void {
  if (podName === "" || name === "") return;
  const claim = `${podName}-${name}`;
  for (const fault of nameIsDnsSubdomain(claim, false)) {
    errors.push(invalid(path.child("name"), name, `PVC name ${goQuote(claim)}: ${fault}`));
  }
}
