/**
 * Where a volume can come from: a table of the sources in the order in which they are checked, each
 * with the rules of its fields. Sources that need no more than some of their texts are only named.
 */
import type {
  AzureDiskVolumeSource,
  EphemeralVolumeSource,
  FCVolumeSource,
  FlexVolumeSource,
  FlockerVolumeSource,
  HostPathVolumeSource,
  QuobyteVolumeSource,
  StorageOSVolumeSource,
  VolumeSource,
} from "#api/generated/core.v1.ts";
import { quantityOf, quantitySign } from "#api/meta/quantity.ts";
import {
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
  tooLong,
} from "#api/validation/field-error.ts";
import { isDns1123Label, isDns1123Subdomain, nameIsDnsSubdomain } from "#api/validation/names.ts";
import type { Path } from "#api/validation/path.ts";
import { utf8Length } from "#lib/utf8-length.ts";
import { validateClaimTemplate } from "./claim-template.ts";
import { validatePullPolicy } from "./container.ts";
import { validateDownwardApi, validateMode, validateObjectFiles } from "./file-volumes.ts";
import { validateIscsi } from "./iscsi.ts";
import { validateDescendingPath, validateNoBacksteps } from "./local-path.ts";
import { validateProjected } from "./projected-volume.ts";
import type { PodRules } from "./rules.ts";

type Rule<T> = (source: T, rules: PodRules, path: Path, errors: FieldError[]) => void;

interface SourceRules {
  readonly field: keyof VolumeSource;
  readonly validate: Rule<unknown>;
  /** Its name in paths of errors, and in the error about a second source; both are odd at times. */
  readonly shownAs?: string;
  readonly rejectedAs?: string;
}

const HOST_PATH_TYPES = [
  "",
  "BlockDevice",
  "CharDevice",
  "Directory",
  "DirectoryOrCreate",
  "File",
  "FileOrCreate",
  "Socket",
];
const PARTITION_FAULT = "must be between 1 and 255, inclusive";
const AZURE_CACHING = ["None", "ReadOnly", "ReadWrite"];
const AZURE_KINDS = ["Dedicated", "Managed", "Shared"];
const AZURE_MANAGED_URI =
  "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}";
const AZURE_BLOB_URI =
  "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd";
const CSI_DRIVER_MAX = 63;
const QUOBYTE_TENANT_MAX = 64;
const QUOBYTE_REGISTRY_FAULT = "must be a host:port pair or multiple pairs separated by commas";

export const VOLUME_SOURCES: readonly SourceRules[] = [
  source("emptyDir", ({ sizeLimit }, _, path, errors) => {
    if (sizeLimit === undefined || quantitySign(quantityOf(sizeLimit)) >= 0) return;
    const detail = "SizeLimit field must be a valid resource quantity";
    errors.push(forbidden(path.child("sizeLimit"), detail));
  }),
  source("hostPath", (hostPath, _, path, errors) => validateHostPath(hostPath, path, errors)),
  source("gitRepo", ({ repository, directory = "" }, _, path, errors) => {
    if (repository === "") errors.push(required(path.child("repository"), ""));
    validateDescendingPath(directory, path.child("directory"), errors);
  }),
  source(
    "gcePersistentDisk",
    (disk, _, path, errors) => {
      needs(disk, ["pdName"], path, errors);
      validatePartition(disk.partition, path, errors);
    },
    { shownAs: "persistentDisk", rejectedAs: "gcePersistentDisk" },
  ),
  source("awsElasticBlockStore", (disk, _, path, errors) => {
    needs(disk, ["volumeID"], path, errors);
    validatePartition(disk.partition, path, errors);
  }),
  source("secret", ({ secretName = "", ...files }, _, path, errors) => {
    if (secretName === "") errors.push(required(path.child("secretName"), ""));
    validateObjectFiles(files, path, errors);
  }),
  source("nfs", (nfs, _, path, errors) => {
    needs(nfs, ["server", "path"], path, errors);
    if (nfs.path.startsWith("/")) return;
    errors.push(invalid(path.child("path"), nfs.path, "must be an absolute path"));
  }),
  source("iscsi", (iscsi, _, path, errors) => validateIscsi(iscsi, path, errors)),
  source("glusterfs", needsTexts("endpoints", "path")),
  source("flocker", (flocker, _, path, errors) => validateFlocker(flocker, path, errors)),
  source("persistentVolumeClaim", needsTexts("claimName")),
  source("rbd", ({ monitors, image }, _, path, errors) => {
    if ((monitors ?? []).length === 0) errors.push(required(path.child("monitors"), ""));
    if (image === "") errors.push(required(path.child("image"), ""));
  }),
  source("cinder", (cinder, _, path, errors) => {
    needs(cinder, ["volumeID"], path, errors);
    validateSecretRef(cinder.secretRef, path, errors);
  }),
  source(
    "cephfs",
    ({ monitors }, _, path, errors) => {
      if ((monitors ?? []).length === 0) errors.push(required(path.child("monitors"), ""));
    },
    { rejectedAs: "cephFS" },
  ),
  source("quobyte", (quobyte, _, path, errors) => validateQuobyte(quobyte, path, errors)),
  source(
    "downwardAPI",
    (downward, _, path, errors) => {
      validateMode(downward.defaultMode, path.child("defaultMode"), errors);
      validateDownwardApi(downward.items ?? [], path, errors);
    },
    { rejectedAs: "downwarAPI" },
  ),
  source("fc", (fc, _, path, errors) => validateFibreChannel(fc, path, errors)),
  source("flexVolume", (flex, _, path, errors) => validateFlex(flex, path, errors)),
  source("configMap", ({ name = "", ...files }, _, path, errors) => {
    if (name === "") errors.push(required(path.child("name"), ""));
    validateObjectFiles(files, path, errors);
  }),
  source("azureFile", needsTexts("secretName", "shareName")),
  source("vsphereVolume", needsTexts("volumePath")),
  source("photonPersistentDisk", needsTexts("pdID")),
  source("portworxVolume", needsTexts("volumeID")),
  source("azureDisk", (disk, _, path, errors) => validateAzureDisk(disk, path, errors)),
  source("storageos", (volume, _, path, errors) => validateStorageOs(volume, path, errors)),
  source("projected", validateProjected),
  source("scaleIO", needsTexts("gateway", "system", "volumeName")),
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

export function validateCsiDriver(driver: string, path: Path, errors: FieldError[]): void {
  if (driver === "") {
    errors.push(required(path, ""));
    return;
  }
  if (utf8Length(driver) > CSI_DRIVER_MAX) errors.push(tooLong(path, CSI_DRIVER_MAX));
  for (const fault of isDns1123Subdomain(driver.toLowerCase())) {
    errors.push(invalid(path, driver, fault));
  }
}

/** Ties a rule to the type of its source, and forgets the type so that it fits the table. */
function source<Field extends keyof VolumeSource>(
  field: Field,
  validate: Rule<NonNullable<VolumeSource[Field]>>,
  names: Pick<SourceRules, "shownAs" | "rejectedAs"> = {},
): SourceRules {
  return { field, validate: validate as Rule<unknown>, ...names };
}

function needsTexts(...fields: readonly string[]): Rule<object> {
  return (texts, _, path, errors) => needs(texts, fields, path, errors);
}

function needs(texts: object, fields: readonly string[], path: Path, errors: FieldError[]): void {
  for (const field of fields) {
    const text = (texts as Readonly<Record<string, unknown>>)[field];
    if (text === undefined || text === "") errors.push(required(path.child(field), ""));
  }
}

function validatePartition(partition: number | undefined, path: Path, errors: FieldError[]): void {
  if (partition === undefined || (partition >= 0 && partition <= 255)) return;
  errors.push(invalid(path.child("partition"), partition, PARTITION_FAULT));
}

function validateSecretRef(
  reference: { readonly name?: string } | undefined,
  path: Path,
  errors: FieldError[],
): void {
  if (reference !== undefined && (reference.name ?? "") === "") {
    errors.push(required(path.child("secretRef", "name"), ""));
  }
}

function validateHostPath(
  { path: text, type }: HostPathVolumeSource,
  path: Path,
  errors: FieldError[],
): void {
  if (text === "") {
    errors.push(required(path.child("path"), ""));
    return;
  }
  validateNoBacksteps(text, path.child("path"), errors);
  if (type === undefined || HOST_PATH_TYPES.includes(type)) return;
  errors.push(notSupported(path.child("type"), type, HOST_PATH_TYPES));
}

function validateFlocker(
  { datasetName = "", datasetUUID = "" }: FlockerVolumeSource,
  path: Path,
  errors: FieldError[],
): void {
  if (datasetName === "" && datasetUUID === "") {
    errors.push(required(path, "one of datasetName and datasetUUID is required"));
  }
  if (datasetName !== "" && datasetUUID !== "") {
    const detail = "datasetName and datasetUUID can not be specified simultaneously";
    errors.push(invalid(path, "resource", detail));
  }
  if (datasetName.includes("/")) {
    errors.push(invalid(path.child("datasetName"), datasetName, "must not contain '/'"));
  }
}

function validateQuobyte(
  { registry, tenant = "", volume }: QuobyteVolumeSource,
  path: Path,
  errors: FieldError[],
): void {
  if (registry === "") {
    errors.push(required(path.child("registry"), QUOBYTE_REGISTRY_FAULT));
  } else if (utf8Length(tenant) > QUOBYTE_TENANT_MAX) {
    const detail = "must be a UUID and may not exceed a length of 64 characters";
    errors.push(required(path.child("tenant"), detail));
  } else {
    for (const pair of registry.split(",")) {
      if (isHostPort(pair)) continue;
      errors.push(invalid(path.child("registry"), registry, QUOBYTE_REGISTRY_FAULT));
    }
  }
  if (volume === "") errors.push(required(path.child("volume"), ""));
}

/** `host:port`, the host in brackets if it has colons itself; both may be empty. */
function isHostPort(text: string): boolean {
  return /^(\[[^[\]]*\]|[^:[\]]*):[^:[\]]*$/.test(text);
}

function validateFibreChannel(
  { targetWWNs = [], wwids = [], lun }: FCVolumeSource,
  path: Path,
  errors: FieldError[],
): void {
  const at = path.child("targetWWNs");
  if (targetWWNs.length === 0 && wwids.length === 0) {
    errors.push(required(at, "must specify either targetWWNs or wwids, but not both"));
  }
  if (targetWWNs.length > 0 && wwids.length > 0) {
    const detail = "targetWWNs and wwids can not be specified simultaneously";
    errors.push(invalid(at, targetWWNs, detail));
  }
  if (targetWWNs.length === 0) return;
  if (lun === undefined) {
    errors.push(required(path.child("lun"), "lun is required if targetWWNs is specified"));
  } else if (lun < 0 || lun > 255) {
    errors.push(invalid(path.child("lun"), lun, "must be between 0 and 255, inclusive"));
  }
}

function validateFlex(
  { driver, options = {} }: FlexVolumeSource,
  path: Path,
  errors: FieldError[],
): void {
  if (driver === "") errors.push(required(path.child("driver"), ""));
  for (const key of Object.keys(options)) {
    const domain = `.${key.split("/", 1)[0]!.toLowerCase()}`;
    if (!domain.endsWith(".kubernetes.io") && !domain.endsWith(".k8s.io")) continue;
    const detail = "kubernetes.io and k8s.io namespaces are reserved";
    errors.push(invalid(path.child("options").key(key), key, detail));
  }
}

function validateAzureDisk(
  { diskName, diskURI, cachingMode, kind }: AzureDiskVolumeSource,
  path: Path,
  errors: FieldError[],
): void {
  if (diskName === "") errors.push(required(path.child("diskName"), ""));
  if (diskURI === "") errors.push(required(path.child("diskURI"), ""));
  if (cachingMode !== undefined && !AZURE_CACHING.includes(cachingMode)) {
    errors.push(notSupported(path.child("cachingMode"), cachingMode, AZURE_CACHING));
  }
  if (kind === undefined) return;
  if (!AZURE_KINDS.includes(kind)) {
    errors.push(notSupported(path.child("kind"), kind, AZURE_KINDS));
  }
  if (kind === "Managed" && !diskURI.startsWith("/subscriptions/")) {
    errors.push(notSupported(path.child("diskURI"), diskURI, [AZURE_MANAGED_URI]));
  }
  if (kind !== "Managed" && !diskURI.startsWith("https://")) {
    errors.push(notSupported(path.child("diskURI"), diskURI, [AZURE_BLOB_URI]));
  }
}

function validateStorageOs(
  { volumeName = "", volumeNamespace = "", secretRef }: StorageOSVolumeSource,
  path: Path,
  errors: FieldError[],
): void {
  if (volumeName === "") errors.push(required(path.child("volumeName"), ""));
  for (const [field, name] of Object.entries({ volumeName, volumeNamespace })) {
    if (name === "") continue;
    for (const fault of isDns1123Label(name)) errors.push(invalid(path.child(field), name, fault));
  }
  validateSecretRef(secretRef, path, errors);
}
