/** How pods use volumes that can be mounted with an SELinux label, and whether two of them agree. */
import type {
  Container,
  PersistentVolume,
  Pod,
  SELinuxOptions,
  Volume,
} from "#api/generated/core.v1.ts";

/** How a pod uses a volume. */
export interface Use {
  readonly pod: Pod;
  /** The same for all pods that use the same storage. */
  readonly volumeId: string;
  /** Empty where the volume is not mounted with one. */
  readonly label: string;
  readonly policy: string;
}

/** A property in which two uses differ. */
export interface Conflict {
  readonly property: "SELinuxChangePolicy" | "SELinuxLabel";
  readonly of: Use;
  readonly with: Use;
}

type Source = Pick<Volume, "iscsi" | "fc"> & Pick<PersistentVolume["spec"], "csi">;

/** Storage that can be mounted with a label; whether a driver can is asked of `canMount`. */
export function volumeIdOf(
  source: Source,
  canMount: (driver: string) => boolean,
): string | undefined {
  const { csi, iscsi, fc } = source;
  if (csi !== undefined && "volumeHandle" in csi)
    return canMount(csi.driver) ? `csi/${csi.driver}^${csi.volumeHandle}` : undefined;
  if (iscsi !== undefined) return `iscsi/${iscsi.targetPortal}:${iscsi.iqn}:${iscsi.lun}`;
  return fc && `fc/${[...(fc.targetWWNs ?? fc.wwids ?? [])].join(",")}:${fc.lun ?? ""}`;
}

/** The labels with which the pod's containers mount one of its volumes; several are a mistake. */
export function labelsOf(pod: Pod, volumeName: string): readonly string[] {
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  const all: readonly Container[] = [
    ...(containers ?? []),
    ...initContainers,
    ...(ephemeralContainers as readonly Container[]),
  ];
  const labels = all
    .filter(({ volumeMounts = [] }) => volumeMounts.some(({ name }) => name === volumeName))
    .flatMap(({ securityContext }) => {
      const options = securityContext?.seLinuxOptions ?? pod.spec.securityContext?.seLinuxOptions;
      return options === undefined ? [] : [labelOf(options)];
    });
  return [...new Set(labels)];
}

export function isMounted({ spec }: Pod, volumeName: string): boolean {
  const { containers, initContainers = [], ephemeralContainers = [] } = spec;
  return [...(containers ?? []), ...initContainers, ...ephemeralContainers].some(
    ({ volumeMounts = [] }) => volumeMounts.some(({ name }) => name === volumeName),
  );
}

/** Without a label nothing is mounted with one, whatever the pod asks for. */
export function useOf(pod: Pod, volumeId: string, labels: readonly string[]): Use {
  const asked = pod.spec.securityContext?.seLinuxChangePolicy ?? "MountOption";
  const label = asked === "Recursive" ? "" : (labels[0] ?? "");
  return { pod, volumeId, label, policy: label === "" ? "Recursive" : asked };
}

export function conflictsOf(a: Use, b: Use): readonly Conflict[] {
  const both = (property: Conflict["property"]): Conflict[] => [
    { property, of: a, with: b },
    { property, of: b, with: a },
  ];
  return [
    ...(a.policy === b.policy ? [] : both("SELinuxChangePolicy")),
    ...(areAtOdds(a.label, b.label) ? both("SELinuxLabel") : []),
  ];
}

export function propertyOf(use: Use, property: Conflict["property"]): string {
  return property === "SELinuxLabel" ? use.label : use.policy;
}

/** What is left out of a label the node fills in, except for the level: that is as it is. */
function areAtOdds(a: string, b: string): boolean {
  const [x, y] = [partsOf(a), partsOf(b)];
  return x.some((part, i) => {
    const other = y[i] ?? "";
    if (part === other) return false;
    return i === 3 || (part !== "" && other !== "");
  });
}

/** User, role, type and level; the level may have colons of its own. */
function partsOf(label: string): readonly string[] {
  const [user = "", role = "", type = "", ...level] = label.split(":");
  return [user, role, type, level.join(":")];
}

function labelOf({ user = "", role = "", type = "", level = "" }: SELinuxOptions): string {
  const label = [user, role, type, level].join(":");
  return label === ":::" ? "" : label;
}
