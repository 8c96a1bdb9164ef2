/**
 * In-tree volumes that CSI drivers serve today (CSI migration): which driver took the place of each
 * plugin, and what a volume is to that driver: its handle, and the driver's topology labels in place
 * of zones.
 */
import type {
  AzureDiskVolumeSource,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PersistentVolume,
  PersistentVolumeSpec,
  Volume,
  VolumeNodeAffinity,
} from "#api/generated/core.v1.ts";

/** The CSI driver that took the place of each in-tree plugin. */
export const MIGRATED_DRIVERS: ReadonlyMap<string, string> = new Map([
  ["kubernetes.io/aws-ebs", "ebs.csi.aws.com"],
  ["kubernetes.io/azure-disk", "disk.csi.azure.com"],
  ["kubernetes.io/azure-file", "file.csi.azure.com"],
  ["kubernetes.io/cinder", "cinder.csi.openstack.org"],
  ["kubernetes.io/gce-pd", "pd.csi.storage.gke.io"],
  ["kubernetes.io/portworx-volume", "pxd.portworx.com"],
  ["kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com"],
]);

const PLUGIN_OF_SOURCE = {
  awsElasticBlockStore: "kubernetes.io/aws-ebs",
  azureDisk: "kubernetes.io/azure-disk",
  azureFile: "kubernetes.io/azure-file",
  cinder: "kubernetes.io/cinder",
  gcePersistentDisk: "kubernetes.io/gce-pd",
  portworxVolume: "kubernetes.io/portworx-volume",
  vsphereVolume: "kubernetes.io/vsphere-volume",
} as const satisfies Partial<Record<keyof PersistentVolumeSpec & keyof Volume, string>>;

type MigratedSource = keyof typeof PLUGIN_OF_SOURCE;
type Sources = Pick<PersistentVolumeSpec, MigratedSource> | Pick<Volume, MigratedSource>;

const SOURCES = Object.keys(PLUGIN_OF_SOURCE) as readonly MigratedSource[];

/** The in-tree plugin of a volume whose place a CSI driver took; undefined for all other volumes. */
export function migratedPluginOf(volume: Sources): string | undefined {
  for (const source of SOURCES) if (volume[source] !== undefined) return PLUGIN_OF_SOURCE[source];
  return undefined;
}

/** The source that the CSI driver gets for an in-tree volume. */
export interface CsiVolume {
  readonly driver: string;
  readonly volumeHandle: string;
  readonly nodeAffinity?: VolumeNodeAffinity;
}

export type Translated =
  | { readonly ok: true; readonly volume: CsiVolume }
  | { readonly ok: false; readonly error: string };

/**
 * Of a volume in a pod's spec. Azure File and vSphere volumes are left out: their drivers do not
 * attach volumes under a limit of the node.
 */
export function translateInlineVolume(volume: Volume): Translated {
  const { awsElasticBlockStore, azureDisk, cinder, gcePersistentDisk, portworxVolume } = volume;
  if (awsElasticBlockStore !== undefined) return ebsVolume(awsElasticBlockStore.volumeID);
  if (azureDisk !== undefined) return azureDiskVolume(azureDisk);
  if (cinder !== undefined) return cinderVolume(cinder.volumeID);
  if (gcePersistentDisk !== undefined) return gceVolume(gcePersistentDisk.pdName, []);
  if (portworxVolume !== undefined) return portworx(portworxVolume.volumeID);
  return notTranslated(volume.name);
}

/** The same of a PersistentVolume. */
export function translatePersistentVolume(volume: PersistentVolume): Translated {
  const { awsElasticBlockStore, azureDisk, cinder, gcePersistentDisk, portworxVolume } =
    volume.spec;
  if (awsElasticBlockStore !== undefined) {
    return withTopology(volume, EBS_TOPOLOGY, ebsVolume(awsElasticBlockStore.volumeID));
  }
  if (azureDisk !== undefined) return sameTopology(volume, azureDiskVolume(azureDisk));
  if (cinder !== undefined) {
    return withTopology(volume, CINDER_TOPOLOGY, cinderVolume(cinder.volumeID));
  }
  if (gcePersistentDisk !== undefined) {
    const { labels = {} } = volume.metadata;
    const zones = (labels[OLD_ZONE] || labels[ZONE] || "").split(ZONES_SEPARATOR);
    return withTopology(volume, GCE_TOPOLOGY, gceVolume(gcePersistentDisk.pdName, zones));
  }
  if (portworxVolume !== undefined) return sameTopology(volume, portworx(portworxVolume.volumeID));
  return notTranslated(volume.metadata.name ?? "");
}

const ZONES_SEPARATOR = "__";
const EBS_TOPOLOGY = "topology.ebs.csi.aws.com/zone";
const CINDER_TOPOLOGY = "topology.cinder.csi.openstack.org/zone";
const GCE_TOPOLOGY = "topology.gke.io/zone";
const ZONE = "topology.kubernetes.io/zone";
const REGION = "topology.kubernetes.io/region";
const OLD_ZONE = "failure-domain.beta.kubernetes.io/zone";
const OLD_REGION = "failure-domain.beta.kubernetes.io/region";

function translated(plugin: string, volumeHandle: string): Translated {
  return { ok: true, volume: { driver: MIGRATED_DRIVERS.get(plugin)!, volumeHandle } };
}

function notTranslated(name: string): Translated {
  const error = `could not find in-tree plugin translation logic for ${JSON.stringify(name)}`;
  return { ok: false, error };
}

/** The ID is `vol-…`, `aws:///vol-…` or `aws://ZONE/vol-…`. */
function ebsVolume(volumeId: string): Translated {
  const plugin = "kubernetes.io/aws-ebs";
  if (!volumeId.startsWith("aws://")) return translated(plugin, volumeId);
  const path = volumeId.slice("aws://".length).replace(/^[^/]*/, "");
  const handle = path.replace(/^\/+|\/+$/g, "");
  if (/^vol-[^/]*$/.test(handle)) return translated(plugin, handle);
  const why = `Invalid format for AWS volume (${volumeId})`;
  return { ok: false, error: `failed to translate Kubernetes ID to EBS Volume ID ${why}` };
}

function azureDiskVolume({ diskURI, kind }: AzureDiskVolumeSource): Translated {
  if (kind !== undefined && kind.toLowerCase() !== "managed") {
    return { ok: false, error: `kind(${kind}) is not supported in csi migration` };
  }
  return translated("kubernetes.io/azure-disk", diskURI);
}

function cinderVolume(volumeId: string): Translated {
  return translated("kubernetes.io/cinder", volumeId);
}

function portworx(volumeId: string): Translated {
  return translated("kubernetes.io/portworx-volume", volumeId);
}

/** The project is never known, the zone or the region only from the labels of the volume. */
function gceVolume(disk: string, zones: readonly string[]): Translated {
  const [first = ""] = zones;
  let place = `zones/${first === "" ? "UNSPECIFIED" : first}`;
  if (zones.length > 1) {
    const region = gceRegionOf(zones);
    if (!region.ok) {
      return { ok: false, error: `failed to get region from zones: ${region.error}` };
    }
    place = `regions/${region.name}`;
  }
  return translated("kubernetes.io/gce-pd", `projects/UNSPECIFIED/${place}/disks/${disk}`);
}

function gceRegionOf(
  zones: readonly string[],
): { readonly ok: true; readonly name: string } | { readonly ok: false; readonly error: string } {
  const regions = new Set<string>();
  for (const zone of zones) {
    const parts = zone.split("-");
    if (parts.length !== 3) {
      const error = `zone in unexpected format, expected: {locale}-{region}-{zone}, got: ${zone}`;
      return { ok: false, error };
    }
    regions.add(`${parts[0]}-${parts[1]}`);
  }
  const [name, ...others] = regions;
  if (name !== undefined && others.length === 0) return { ok: true, name };
  const listed = [...regions].sort().map((region) => `${region}:{}`);
  const error = `multiple or no regions gotten from zones, got: map[${listed.join(" ")}]`;
  return { ok: false, error };
}

function sameTopology({ spec }: PersistentVolume, result: Translated): Translated {
  const { nodeAffinity } = spec;
  return result.ok && nodeAffinity !== undefined
    ? { ok: true, volume: { ...result.volume, nodeAffinity } }
    : result;
}

/** Zones become values of the driver's topology label, from the node affinity or else from labels. */
function withTopology(volume: PersistentVolume, label: string, result: Translated): Translated {
  const { labels = {} } = volume.metadata;
  const terms = volume.spec.nodeAffinity?.required?.nodeSelectorTerms ?? [];
  const isOld = usesOldLabels(terms, labels);
  const zone = isOld ? OLD_ZONE : ZONE;
  let next = terms;
  if (hasValues(terms, zone)) next = renamed(terms, zone, label);
  else {
    const zones = (labels[zone] ?? "").split(ZONES_SEPARATOR).map((one) => one.trim());
    const values = [...new Set(zones)].filter((one) => one !== "").sort();
    if (values.length > 0) next = withRequirement(terms, { key: label, operator: "In", values });
  }
  // Nodes of today have only the new label of the region.
  if (isOld && hasValues(next, OLD_REGION)) next = renamed(next, OLD_REGION, REGION);
  if (!result.ok || next === terms) return sameTopology(volume, result);
  const nodeAffinity = { required: { nodeSelectorTerms: next } };
  return { ok: true, volume: { ...result.volume, nodeAffinity } };
}

/** The node affinity says it before the labels do. */
function usesOldLabels(
  terms: readonly NodeSelectorTerm[],
  labels: Readonly<Record<string, string>>,
): boolean {
  const isNamed = (label: string): boolean =>
    terms.some(({ matchExpressions = [] }) => matchExpressions.some(({ key }) => key === label));
  if (isNamed(ZONE)) return false;
  if (isNamed(OLD_ZONE)) return true;
  return labels[ZONE] === undefined && labels[OLD_ZONE] !== undefined;
}

function hasValues(terms: readonly NodeSelectorTerm[], label: string): boolean {
  return terms.some(({ matchExpressions = [] }) =>
    matchExpressions.some(({ key, values = [] }) => key === label && values.length > 0),
  );
}

function renamed(
  terms: readonly NodeSelectorTerm[],
  from: string,
  to: string,
): readonly NodeSelectorTerm[] {
  return terms.map((term) => ({
    ...term,
    ...(term.matchExpressions === undefined
      ? {}
      : {
          matchExpressions: term.matchExpressions.map((one) =>
            one.key === from ? { ...one, key: to } : one,
          ),
        }),
  }));
}

function withRequirement(
  terms: readonly NodeSelectorTerm[],
  requirement: NodeSelectorRequirement,
): readonly NodeSelectorTerm[] {
  const all: readonly NodeSelectorTerm[] = terms.length === 0 ? [{}] : terms;
  return all.map((term) => ({
    ...term,
    matchExpressions: [...(term.matchExpressions ?? []), requirement],
  }));
}
