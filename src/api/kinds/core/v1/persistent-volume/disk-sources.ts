/**
 * Disks and shares that a pod's volume and a PersistentVolume describe alike, and the rules of their
 * fields. Where the two differ, only what they have in common is here.
 */
import type {
  AzureDiskVolumeSource,
  FCVolumeSource,
  FlexVolumeSource,
  FlockerVolumeSource,
  HostPathVolumeSource,
  QuobyteVolumeSource,
  StorageOSVolumeSource,
  VolumeSource,
} from "#api/generated/core.v1.ts";
import {
  type FieldError,
  invalid,
  notSupported,
  required,
  tooLong,
} from "#api/validation/field-error.ts";
import { isDns1123Label, isDns1123Subdomain } from "#api/validation/names.ts";
import type { Path } from "#api/validation/path.ts";
import { utf8Length } from "#lib/text/utf8-length.ts";
import { validateNoBacksteps } from "../pod/volumes/local-path.ts";

type Rule<T> = (source: T, path: Path, errors: FieldError[]) => void;
type Rules = { readonly [Field in keyof VolumeSource]: Rule<NonNullable<VolumeSource[Field]>> };

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

export const DISK_RULES = {
  hostPath: validateHostPath,
  gcePersistentDisk: (disk, path, errors) => {
    needs(disk, ["pdName"], path, errors);
    validatePartition(disk.partition, path, errors);
  },
  awsElasticBlockStore: (disk, path, errors) => {
    needs(disk, ["volumeID"], path, errors);
    validatePartition(disk.partition, path, errors);
  },
  nfs: (nfs, path, errors) => {
    needs(nfs, ["server", "path"], path, errors);
    if (nfs.path.startsWith("/")) return;
    errors.push(invalid(path.child("path"), nfs.path, "must be an absolute path"));
  },
  glusterfs: needsTexts("endpoints", "path"),
  flocker: validateFlocker,
  rbd: ({ monitors, image }, path, errors) => {
    if ((monitors ?? []).length === 0) errors.push(required(path.child("monitors"), ""));
    if (image === "") errors.push(required(path.child("image"), ""));
  },
  cinder: (cinder, path, errors) => {
    needs(cinder, ["volumeID"], path, errors);
    validateSecretRef(cinder.secretRef, path, errors);
  },
  cephfs: ({ monitors }, path, errors) => {
    if ((monitors ?? []).length === 0) errors.push(required(path.child("monitors"), ""));
  },
  quobyte: validateQuobyte,
  fc: validateFibreChannel,
  flexVolume: validateFlex,
  azureFile: needsTexts("secretName", "shareName"),
  vsphereVolume: needsTexts("volumePath"),
  photonPersistentDisk: needsTexts("pdID"),
  portworxVolume: needsTexts("volumeID"),
  azureDisk: validateAzureDisk,
  storageos: validateStorageOs,
  scaleIO: needsTexts("gateway", "system", "volumeName"),
} satisfies Rules;

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

function needsTexts(...fields: readonly string[]): Rule<object> {
  return (texts, path, errors) => needs(texts, fields, path, errors);
}

export function needs(
  texts: object,
  fields: readonly string[],
  path: Path,
  errors: FieldError[],
): void {
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
