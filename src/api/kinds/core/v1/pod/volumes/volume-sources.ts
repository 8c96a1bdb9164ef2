/**
 * Where a volume can come from: a table of the sources in the order in which they are checked, each
 * with the rules of its fields. Sources that need no more than some of their texts are only named.
 */
import type { EphemeralVolumeSource, VolumeSource } from "#api/generated/core.v1.ts";
import { quantityOf, quantitySign } from "#api/meta/quantity.ts";
import { type FieldError, forbidden, invalid, required } from "#api/validation/field-error.ts";
import { nameIsDnsSubdomain } from "#api/validation/names.ts";
import type { Path } from "#api/validation/path.ts";
import { DISK_RULES, needs, validateCsiDriver } from "../../persistent-volume/disk-sources.ts";
import { validatePullPolicy } from "../containers/container.ts";
import type { PodRules } from "../rules.ts";
import { validateClaimTemplate } from "./claim-template.ts";
import { validateDownwardApi, validateMode, validateObjectFiles } from "./file-volumes.ts";
import { validateIscsi } from "./iscsi.ts";
import { validateDescendingPath } from "./local-path.ts";
import { validateProjected } from "./projected-volume.ts";

type Rule<T> = (source: T, rules: PodRules, path: Path, errors: FieldError[]) => void;

export interface SourceRules {
  readonly field: keyof VolumeSource;
  readonly validate: Rule<unknown>;
  /** Its name in paths of errors, and in the error about a second source; both are odd at times. */
  readonly shownAs?: string;
  readonly rejectedAs?: string;
}

export const VOLUME_SOURCES: readonly SourceRules[] = [
  source("emptyDir", ({ sizeLimit }, _, path, errors) => {
    if (sizeLimit === undefined || quantitySign(quantityOf(sizeLimit)) >= 0) return;
    const detail = "SizeLimit field must be a valid resource quantity";
    errors.push(forbidden(path.child("sizeLimit"), detail));
  }),
  disk("hostPath"),
  source("gitRepo", ({ repository, directory = "" }, _, path, errors) => {
    if (repository === "") errors.push(required(path.child("repository"), ""));
    validateDescendingPath(directory, path.child("directory"), errors);
  }),
  disk("gcePersistentDisk", { shownAs: "persistentDisk", rejectedAs: "gcePersistentDisk" }),
  disk("awsElasticBlockStore"),
  source("secret", ({ secretName = "", ...files }, _, path, errors) => {
    if (secretName === "") errors.push(required(path.child("secretName"), ""));
    validateObjectFiles(files, path, errors);
  }),
  disk("nfs"),
  source("iscsi", (iscsi, _, path, errors) => validateIscsi(iscsi, path, errors)),
  disk("glusterfs"),
  disk("flocker"),
  source("persistentVolumeClaim", needsTexts("claimName")),
  disk("rbd"),
  disk("cinder"),
  disk("cephfs", { rejectedAs: "cephFS" }),
  disk("quobyte"),
  source(
    "downwardAPI",
    (downward, _, path, errors) => {
      validateMode(downward.defaultMode, path.child("defaultMode"), errors);
      validateDownwardApi(downward.items ?? [], path, errors);
    },
    { rejectedAs: "downwarAPI" },
  ),
  disk("fc"),
  disk("flexVolume"),
  source("configMap", ({ name = "", ...files }, _, path, errors) => {
    if (name === "") errors.push(required(path.child("name"), ""));
    validateObjectFiles(files, path, errors);
  }),
  disk("azureFile"),
  disk("vsphereVolume"),
  disk("photonPersistentDisk"),
  disk("portworxVolume"),
  disk("azureDisk"),
  disk("storageos"),
  source("projected", validateProjected),
  disk("scaleIO"),
  source("csi", ({ driver, nodePublishSecretRef }, _, path, errors) => {
    validateCsiDriver(driver, path.child("driver"), errors);
    if (nodePublishSecretRef === undefined) return;
    const { name = "" } = nodePublishSecretRef;
    if (name === "") errors.push(required(path.child("nodePublishSecretRef", "name"), ""));
    else {
      for (const fault of nameIsDnsSubdomain(name, false)) {
        errors.push(invalid(path.child("name"), name, fault));
      }
    }
  }),
  source("ephemeral", ({ volumeClaimTemplate }: EphemeralVolumeSource, _, path, errors) => {
    const at = path.child("volumeClaimTemplate");
    if (volumeClaimTemplate === undefined) errors.push(required(at, ""));
    else validateClaimTemplate(volumeClaimTemplate, at, errors);
  }),
  source("image", ({ reference = "", pullPolicy = "" }, { isPod }, path, errors) => {
    if (isPod && reference === "") errors.push(required(path.child("reference"), ""));
    validatePullPolicy(pullPolicy, path.child("pullPolicy"), errors);
  }),
];

/** Ties a rule to the type of its source, and forgets the type so that it fits the table. */
function source<Field extends keyof VolumeSource>(
  field: Field,
  validate: Rule<NonNullable<VolumeSource[Field]>>,
  names: Pick<SourceRules, "shownAs" | "rejectedAs"> = {},
): SourceRules {
  return { field, validate: validate as Rule<unknown>, ...names };
}

/** A source whose rules persistent volumes share. */
function disk(
  field: keyof typeof DISK_RULES,
  names: Pick<SourceRules, "shownAs" | "rejectedAs"> = {},
): SourceRules {
  const rule = DISK_RULES[field] as (source: unknown, path: Path, errors: FieldError[]) => void;
  return { field, validate: (source, _, path, errors) => rule(source, path, errors), ...names };
}

function needsTexts(...fields: readonly string[]): Rule<object> {
  return (texts, _, path, errors) => needs(texts, fields, path, errors);
}
