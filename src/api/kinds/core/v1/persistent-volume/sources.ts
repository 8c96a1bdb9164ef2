/** Where a PersistentVolume can come from, and the rules of each source. */
import type {
  CSIPersistentVolumeSource,
  ISCSIPersistentVolumeSource,
  PersistentVolumeSource,
  PersistentVolumeSpec,
  SecretReference,
} from "#api/generated/core.v1.ts";
import type { Draft } from "#api/kind.ts";
import { type FieldError, forbidden, invalid, required } from "#api/validation/field-error.ts";
import { isDns1123Label, isDns1123Subdomain } from "#api/validation/names.ts";
import type { Path } from "#api/validation/path.ts";
import { utf8Length } from "#lib/text/utf8-length.ts";
import { isIscsiName } from "../pod/volumes/iscsi.ts";
import { validateNoBacksteps } from "../pod/volumes/local-path.ts";
import { defaultDisk } from "../pod/volumes/volume-defaults.ts";
import { roundToMillis } from "../resources/round-resources.ts";
import { DISK_RULES, needs, validateCsiDriver } from "./disk-sources.ts";

type Rule<T> = (source: T, path: Path, errors: FieldError[], volumeName: string) => void;

interface SourceRules {
  readonly field: keyof PersistentVolumeSource;
  readonly validate: Rule<unknown>;
  /** Its name in paths of errors, and in the error about a second source; both are odd at times. */
  readonly shownAs?: string;
  readonly rejectedAs?: string;
}

const ISCSI_TARGET_MAX = 64;

/** In the order in which they are checked. */
const SOURCES: readonly SourceRules[] = [
  disk("hostPath"),
  disk("gcePersistentDisk", { shownAs: "persistentDisk", rejectedAs: "gcePersistentDisk" }),
  disk("awsElasticBlockStore"),
  source("glusterfs", (volume, path, errors) => {
    needs(volume, ["endpoints", "path"], path, errors);
    const { endpointsNamespace: namespace } = volume;
    if (namespace === undefined) return;
    const at = path.child("endpointsNamespace");
    if (namespace === "") {
      const detail = "if the endpointnamespace is set, it must be a valid namespace name";
      errors.push(invalid(at, namespace, detail));
    } else {
      for (const fault of isDns1123Label(namespace)) errors.push(invalid(at, namespace, fault));
    }
  }),
  disk("flocker"),
  disk("nfs"),
  disk("rbd"),
  disk("quobyte"),
  disk("cephfs", { rejectedAs: "cephFS" }),
  source("iscsi", validateIscsi),
  source("cinder", (cinder, path, errors) => {
    needs(cinder, ["volumeID"], path, errors);
    if (cinder.secretRef === undefined) return;
    needs(cinder.secretRef, ["name", "namespace"], path.child("secretRef"), errors);
  }),
  disk("fc"),
  disk("flexVolume"),
  source("azureFile", (share, path, errors) => {
    needs(share, ["secretName", "shareName"], path, errors);
    if (share.secretNamespace === undefined) return;
    needs(share, ["secretNamespace"], path, errors);
  }),
  disk("vsphereVolume"),
  disk("photonPersistentDisk"),
  disk("portworxVolume"),
  disk("azureDisk"),
  disk("scaleIO"),
  source("local", (local, path, errors) => {
    needs(local, ["path"], path, errors);
    validateNoBacksteps(local.path, path.child("path"), errors);
  }),
  source("storageos", (volume, path, errors) => {
    const { secretRef, ...shared } = volume;
    DISK_RULES.storageos(shared, path, errors);
    if (secretRef === undefined) return;
    needs(secretRef, ["name", "namespace"], path.child("secretRef"), errors);
  }),
  source("csi", validateCsi),
];

const SOURCE_FIELDS = SOURCES.map(({ field }) => field);

/** Only the source of a volume, without the rest of its spec. */
export function sourceOf(spec: PersistentVolumeSpec): PersistentVolumeSource {
  return Object.fromEntries(
    SOURCE_FIELDS.filter((field) => spec[field] !== undefined).map((field) => [field, spec[field]]),
  );
}

/** What a source means where it says nothing; also of volumes without an object of their own. */
export function defaultVolumeSource(spec: Draft<PersistentVolumeSpec>): void {
  roundToMillis(spec.capacity);
  if (spec.hostPath !== undefined) spec.hostPath.type ??= "";
  defaultDisk(spec);
}

/** Exactly one source, sound in itself. */
export function validateSources(
  spec: PersistentVolumeSpec,
  volumeName: string,
  path: Path,
): FieldError[] {
  const errors: FieldError[] = [];
  let found = false;
  for (const { field, validate, shownAs = field, rejectedAs = shownAs } of SOURCES) {
    const given = spec[field];
    if (given === undefined) continue;
    // A flex volume is not counted against the others, and never was.
    if (found && field !== "flexVolume") {
      errors.push(forbidden(path.child(rejectedAs), "may not specify more than 1 volume type"));
      continue;
    }
    found = true;
    validate(given, path.child(shownAs), errors, volumeName);
    if (field === "local" && spec.nodeAffinity === undefined) {
      const detail = "Local volume requires node affinity";
      errors.push(required(path.child("nodeAffinity"), detail));
    }
  }
  if (!found) errors.push(required(path, "must specify a volume type"));
  return errors;
}

/** Ties a rule to the type of its source, and forgets the type so that it fits the table. */
function source<Field extends keyof PersistentVolumeSource>(
  field: Field,
  validate: Rule<NonNullable<PersistentVolumeSource[Field]>>,
): SourceRules {
  return { field, validate: validate as Rule<unknown> };
}

/** A source whose rules volumes of pods share. */
function disk(
  field: keyof typeof DISK_RULES,
  names: Pick<SourceRules, "shownAs" | "rejectedAs"> = {},
): SourceRules {
  return { field, validate: DISK_RULES[field] as Rule<unknown>, ...names };
}

function validateIscsi(
  iscsi: ISCSIPersistentVolumeSource,
  path: Path,
  errors: FieldError[],
  volumeName: string,
): void {
  const { targetPortal, iqn, lun, initiatorName, secretRef } = iscsi;
  if (targetPortal === "") errors.push(required(path.child("targetPortal"), ""));
  const target = `${volumeName}:${targetPortal}`;
  if (initiatorName !== undefined && utf8Length(target) > ISCSI_TARGET_MAX) {
    const detail =
      "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.";
    errors.push(invalid(path.child("targetportal"), targetPortal, detail));
  }
  if (iqn === "") errors.push(required(path.child("iqn"), ""));
  else if (!isIscsiName(iqn)) errors.push(invalid(path.child("iqn"), iqn, "must be valid format"));
  if (lun < 0 || lun > 255) {
    errors.push(invalid(path.child("lun"), lun, "must be between 0 and 255, inclusive"));
  }
  if ((iscsi.chapAuthDiscovery || iscsi.chapAuthSession) && secretRef === undefined) {
    errors.push(required(path.child("secretRef"), ""));
  }
  if (secretRef !== undefined) needs(secretRef, ["name"], path.child("secretRef"), errors);
  if (initiatorName !== undefined && !isIscsiName(initiatorName)) {
    errors.push(invalid(path.child("initiatorname"), initiatorName, "must be valid format"));
  }
}

function validateCsi(csi: CSIPersistentVolumeSource, path: Path, errors: FieldError[]): void {
  validateCsiDriver(csi.driver, path.child("driver"), errors);
  needs(csi, ["volumeHandle"], path, errors);
  for (const field of [
    "controllerPublishSecretRef",
    "controllerExpandSecretRef",
    "nodePublishSecretRef",
    "nodeExpandSecretRef",
  ] as const) {
    const reference = csi[field];
    if (reference !== undefined) validateSecretReference(reference, path.child(field), errors);
  }
}

function validateSecretReference(
  { name = "", namespace = "" }: SecretReference,
  path: Path,
  errors: FieldError[],
): void {
  const rules = [
    ["name", name, isDns1123Subdomain],
    ["namespace", namespace, isDns1123Label],
  ] as const;
  for (const [field, text, rule] of rules) {
    const at = path.child(field);
    if (text === "") errors.push(required(at, ""));
    else for (const fault of rule(text)) errors.push(invalid(at, text, fault));
  }
}
