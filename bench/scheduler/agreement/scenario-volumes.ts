/** Volumes of a scenario: classes, drivers and limits of the cluster, and the claims of a pod. */
import type { PersistentVolume, Pod } from "#api/generated/core.v1.ts";
import { persistentVolumeKind } from "#api/kinds/core/v1/persistent-volume/persistent-volume.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { csiDriverKind } from "#api/kinds/storage/v1/csi-driver.ts";
import { csiNodeKind } from "#api/kinds/storage/v1/csi-node.ts";
import { csiStorageCapacityKind } from "#api/kinds/storage/v1/csi-storage-capacity.ts";
import { storageClassKind } from "#api/kinds/storage/v1/storage-class.ts";
import type { Draft } from "#testing/build.ts";
import type { Dice } from "../../load/dice.ts";
import { ZONE } from "./scenario-nodes.ts";
import { inlineDisk } from "./scenario-pods.ts";
import { type Seed, seedOf } from "./seed.ts";

const DRIVER = "csi.example.com";
const EBS_DRIVER = "ebs.csi.aws.com";
const EBS_PLUGIN = "kubernetes.io/aws-ebs";
const MIGRATED = "storage.alpha.kubernetes.io/migrated-plugins";
const WAIT = "WaitForFirstConsumer" as const;

/** A volume that a pod mounts, with the objects behind it. */
export interface PodVolume {
  readonly seeds: readonly Seed[];
  readonly volume: Draft<NonNullable<Pod["spec"]["volumes"]>[number]>;
}

export function clusterVolumes(dice: Dice, nodeCount: number): readonly Seed[] {
  const inZone = {
    allowedTopologies: [{ matchLabelExpressions: [{ key: ZONE, values: ["z0", "z1"] }] }],
  };
  const classes = [
    { metadata: { name: "immediate" }, provisioner: DRIVER, volumeBindingMode: "Immediate" },
    { metadata: { name: "local" }, provisioner: NO_PROVISIONER, volumeBindingMode: WAIT },
    { metadata: { name: "dynamic" }, provisioner: DRIVER, volumeBindingMode: WAIT },
    { metadata: { name: "gp2" }, provisioner: EBS_PLUGIN, volumeBindingMode: WAIT },
    { metadata: { name: "zonal" }, provisioner: "other.example.com", volumeBindingMode: WAIT },
  ] as const;
  const capacities = ["z0", "z1"].map((zone) =>
    seedOf(csiStorageCapacityKind, {
      metadata: { name: `capacity-${zone}`, namespace: "default" },
      storageClassName: "dynamic",
      capacity: dice.pick(["1Gi", "100Gi"]),
      nodeTopology: { matchLabels: { [ZONE]: zone } },
    }),
  );
  const limits = Array.from({ length: nodeCount }, (_, index) => `n${index}`)
    .filter(() => dice.chance(0.6))
    .map((name) =>
      seedOf(csiNodeKind, {
        metadata: {
          name,
          annotations: dice.chance(0.7) ? { [MIGRATED]: `kubernetes.io/gce-pd,${EBS_PLUGIN}` } : {},
        },
        spec: {
          drivers: [DRIVER, EBS_DRIVER].map((driver) => ({
            ...{ name: driver, nodeID: name, allocatable: { count: dice.pick([1, 2, 20]) } },
          })),
        },
      }),
    );
  return [
    ...classes.map((one) =>
      seedOf(storageClassKind, { ...one, ...(one.metadata.name === "zonal" ? inZone : {}) }),
    ),
    seedOf(csiDriverKind, { metadata: { name: DRIVER }, spec: { storageCapacity: true } }),
    ...capacities,
    ...limits,
  ];
}

const NO_PROVISIONER = "kubernetes.io/no-provisioner";

/** Named by `tag`, so that two schedulers get volumes of their own. */
export function podVolume(dice: Dice, namespace: string): (tag: string) => PodVolume {
  const kind = dice.pick([
    ...["bound", "zone", "immediate", "local", "dynamic", "zonal", "missing"],
    ...["ebs-zone", "ebs-affinity", "gp2", "ebs-inline", "ebs-wrong", "azure-inline", "no-class"],
  ]);
  const disk = inlineDisk(dice);
  const zone = dice.pick(["z0", "z1"]);
  const isHostname = dice.chance(0.3);
  return (tag) => {
    const name = `claim-${tag}`;
    const volume = { name: "data", persistentVolumeClaim: { claimName: name } };
    const affinity = isHostname
      ? nodeAffinity("kubernetes.io/hostname", ["n0", "n1"])
      : nodeAffinity(ZONE, [zone]);
    const ref = { namespace, name, uid: `uid-${name}` };
    const pv = (draft: Draft<PersistentVolume>) =>
      seedOf(persistentVolumeKind, {
        ...draft,
        metadata: { name: `volume-${tag}`, ...draft.metadata },
        spec: {
          capacity: { storage: "10Gi" },
          accessModes: ["ReadWriteOnce"],
          ...(draft.spec?.awsElasticBlockStore === undefined
            ? { csi: { driver: DRIVER, volumeHandle: `handle-${tag}` } }
            : {}),
          ...draft.spec,
        },
      });
    const claim = (storageClassName: string, isBound = false) =>
      seedOf(persistentVolumeClaimKind, {
        metadata: {
          ...ref,
          annotations: isBound ? { "pv.kubernetes.io/bind-completed": "yes" } : {},
        },
        spec: {
          ...{ storageClassName, accessModes: ["ReadWriteOnce"] },
          resources: { requests: { storage: "5Gi" } },
          ...(isBound ? { volumeName: `volume-${tag}` } : {}),
        },
        status: { phase: isBound ? "Bound" : "Pending" },
      });
    const bound = { storageClassName: "local", claimRef: ref };
    switch (kind) {
      case "bound":
        return { volume, seeds: [pv({ spec: { ...bound, ...affinity } }), claim("local", true)] };
      case "zone": {
        const labelled = { metadata: { labels: { [ZONE]: zone } }, spec: bound };
        return { volume, seeds: [pv(labelled), claim("local", true)] };
      }
      case "local":
        return {
          volume,
          seeds: [
            pv({
              spec: { storageClassName: "local", ...affinity },
              status: { phase: "Available" },
            }),
            claim("local"),
          ],
        };
      case "ebs-zone":
      case "ebs-affinity":
      case "ebs-wrong": {
        const volumeID = kind === "ebs-wrong" ? "aws://zone/disk" : `vol-${tag}`;
        const spec = { ...bound, awsElasticBlockStore: { volumeID } };
        const object =
          kind === "ebs-affinity"
            ? pv({ spec: { ...spec, ...affinity } })
            : pv({ metadata: { labels: { [ZONE]: zone } }, spec });
        return { volume, seeds: [object, claim("local", true)] };
      }
      case "ebs-inline":
        return { volume: disk, seeds: [] };
      case "azure-inline": {
        const azureDisk = { diskName: "d", diskURI: "http://d", kind: "Shared" as const };
        return { volume: { name: "data", azureDisk }, seeds: [] };
      }
      case "missing":
        return { volume, seeds: [] };
      default:
        return { volume, seeds: [claim(kind)] };
    }
  };
}

function nodeAffinity(key: string, values: readonly string[]) {
  const matchExpressions = [{ key, operator: "In" as const, values }];
  return { nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions }] } } };
}
