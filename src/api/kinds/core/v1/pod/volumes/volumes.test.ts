import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { podFaults, runPod, volumeFaults } from "#api/testing/run-pod.ts";

const cases: readonly {
  name: string;
  source: Record<string, unknown>;
  want: readonly string[];
}[] = [
  {
    name: "a volume with several sources is refused",
    source: { emptyDir: {}, hostPath: { path: "/a" }, downwardAPI: {} },
    want: [
      "hostPath: Forbidden: may not specify more than 1 volume type",
      "downwarAPI: Forbidden: may not specify more than 1 volume type",
    ],
  },
  {
    name: "hostPath",
    source: { hostPath: { path: "/a/../b", type: "Pipe" } },
    want: [
      "hostPath.path: Invalid value: \"/a/../b\": must not contain '..'",
      'hostPath.type: Unsupported value: "Pipe": supported values: "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"',
    ],
  },
  {
    name: "gcePersistentDisk",
    source: { gcePersistentDisk: { pdName: "", partition: 300 } },
    want: [
      "persistentDisk.pdName: Required value",
      "persistentDisk.partition: Invalid value: 300: must be between 1 and 255, inclusive",
    ],
  },
  {
    name: "secret: bad modes, keys and paths are refused",
    source: {
      secret: { secretName: "s", defaultMode: 512, items: [{ key: "", path: "..a", mode: -1 }] },
    },
    want: [
      "secret.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive",
      "secret.items[0].key: Required value",
      "secret.items[0].path: Invalid value: \"..a\": must not start with '..'",
      "secret.items[0].mode: Invalid value: -1: must be a number between 0 and 0777 (octal), both inclusive",
    ],
  },
  {
    name: "nfs: a server and an absolute path are required",
    source: { nfs: { server: "", path: "a" } },
    want: ["nfs.server: Required value", 'nfs.path: Invalid value: "a": must be an absolute path'],
  },
  {
    name: "iscsi: bad portals, IQNs and secrets are refused",
    source: {
      iscsi: {
        targetPortal: "p".repeat(80),
        iqn: "iqn.x",
        lun: 0,
        chapAuthSession: true,
        initiatorName: "abc",
      },
    },
    want: [
      'iscsi.iqn: Invalid value: "iqn.x": must be valid format',
      "iscsi.secretRef: Required value",
      'iscsi.initiatorname: Invalid value: "abc": must be valid format starting with iqn, eui, or naa',
      'name: Invalid value: "v": Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.',
    ],
  },
  {
    name: "flocker: datasetName and datasetUUID exclude each other",
    source: { flocker: { datasetName: "a/b", datasetUUID: "u" } },
    want: [
      'flocker: Invalid value: "resource": datasetName and datasetUUID can not be specified simultaneously',
      "flocker.datasetName: Invalid value: \"a/b\": must not contain '/'",
    ],
  },
  {
    name: "quobyte: a registry of host:port pairs and a volume are required",
    source: { quobyte: { registry: "host:1,nohost", volume: "" } },
    want: [
      'quobyte.registry: Invalid value: "host:1,nohost": must be a host:port pair or multiple pairs separated by commas',
      "quobyte.volume: Required value",
    ],
  },
  {
    name: "fc: targetWWNs and wwids exclude each other",
    source: { fc: { targetWWNs: ["a"], wwids: ["b"], lun: 256 } },
    want: [
      'fc.targetWWNs: Invalid value: ["a"]: targetWWNs and wwids can not be specified simultaneously',
      "fc.lun: Invalid value: 256: must be between 0 and 255, inclusive",
    ],
  },
  {
    name: "flexVolume",
    source: { flexVolume: { driver: "", options: { "a.k8s.io/x": "1", fine: "2" } } },
    want: [
      "flexVolume.driver: Required value",
      'flexVolume.options[a.k8s.io/x]: Invalid value: "a.k8s.io/x": kubernetes.io and k8s.io namespaces are reserved',
    ],
  },
  {
    name: "azureDisk",
    source: { azureDisk: { diskName: "", diskURI: "x", cachingMode: "Some", kind: "Managed" } },
    want: [
      "azureDisk.diskName: Required value",
      'azureDisk.cachingMode: Unsupported value: "Some": supported values: "None", "ReadOnly", "ReadWrite"',
      'azureDisk.diskURI: Unsupported value: "x": supported values: "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"',
    ],
  },
  {
    name: "storageos: volumeName and the name of secretRef are required",
    source: { storageos: { volumeName: "", volumeNamespace: "a.b", secretRef: {} } },
    want: [
      "storageos.volumeName: Required value",
      'storageos.volumeNamespace: Invalid value: "a.b": must not contain dots',
      "storageos.secretRef.name: Required value",
    ],
  },
  {
    name: "sources that need texts",
    source: { scaleIO: { gateway: "", system: "", secretRef: {}, volumeName: "" } },
    want: [
      "scaleIO.gateway: Required value",
      "scaleIO.system: Required value",
      "scaleIO.volumeName: Required value",
    ],
  },
  {
    name: "downwardAPI",
    source: {
      downwardAPI: {
        items: [
          { path: "", fieldRef: { fieldPath: "spec.nodeName" } },
          { path: "a", resourceFieldRef: { resource: "limits.cpu" } },
          { path: "b" },
        ],
      },
    },
    want: [
      "downwardAPI.path: Required value",
      'downwardAPI.fieldRef.fieldPath: Unsupported value: "spec.nodeName": supported values: "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"',
      "downwardAPI.resourceFieldRef.containerName: Required value",
      "downwardAPI: Required value: one of fieldRef and resourceFieldRef is required",
    ],
  },
  {
    name: "projected: bad tokens, several sources and repeated paths are refused",
    source: {
      projected: {
        sources: [
          { serviceAccountToken: { path: "", expirationSeconds: 1 } },
          { secret: { name: "s", items: [{ key: "k", path: "a" }] }, configMap: { name: "" } },
          { configMap: { name: "m", items: [{ key: "k", path: "a" }] } },
        ],
      },
    },
    want: [
      "projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 1: may not specify a duration less than 10 minutes",
      "projected.path: Required value",
      "projected.sources[1].configMap.name: Required value",
      "projected.sources[1]: Forbidden: may not specify more than 1 volume type per source",
      'projected: Invalid value: "m": conflicting duplicate paths',
    ],
  },
  {
    name: "csi: a long driver name and a bad nodePublishSecretRef are refused",
    source: { csi: { driver: "D".repeat(64), nodePublishSecretRef: { name: "A" } } },
    want: [
      "csi.driver: Too long: may not be more than 63 bytes",
      "csi.name: Invalid value: \"A\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    ],
  },
  {
    name: "image: a reference and a known pullPolicy are required",
    source: { image: { reference: "", pullPolicy: "Now" } },
    want: [
      "image.reference: Required value",
      'image.pullPolicy: Unsupported value: "Now": supported values: "Always", "IfNotPresent", "Never"',
    ],
  },
  {
    name: "ephemeral without a template",
    source: { ephemeral: {} },
    want: ["ephemeral.volumeClaimTemplate: Required value"],
  },
];

describe("volumes", () => {
  for (const { name, source, want } of cases) {
    test(name, () => assert.deepEqual(volumeFaults(source), want));
  }

  test("a claim that an ephemeral volume will get is not for others", () => {
    const template = {
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1" } } },
    };
    const volumes = [
      { name: "a", ephemeral: { volumeClaimTemplate: template } },
      { name: "b", persistentVolumeClaim: { claimName: "x-a" } },
    ];
    assert.deepEqual(podFaults({ volumes }), [
      'spec.volumes[1].persistentVolumeClaim.claimName: Invalid value: "x-a": must not reference a PVC that gets created for an ephemeral volume',
    ]);
  });

  test("tokens need an account", () => {
    const volumes = [
      { name: "v", projected: { sources: [{ serviceAccountToken: { path: "t" } }] } },
    ];
    assert.deepEqual(podFaults({ volumes, serviceAccountName: "" }), [
      "spec.volumes[0].projected.sources[0].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set",
    ]);
  });

  test("sources of features that are off are dropped", () => {
    const sources = [
      { clusterTrustBundle: { name: "b", path: "p" } },
      { podCertificate: { signerName: "a.b/c", keyType: "ED25519", keyPath: "k" } },
    ];
    const { object, faults } = runPod({ volumes: [{ name: "v", projected: { sources } }] });
    assert.deepEqual(faults, []);
    assert.deepEqual(object.spec.volumes?.[0]?.projected, {
      sources: [{}, {}],
      defaultMode: 0o644,
    });
  });

  describe("with the features on", () => {
    const context = {
      nowMs: 0,
      features: ["ClusterTrustBundleProjection", "PodCertificateRequest"],
    };
    const certificate = { signerName: "a.b/c", keyType: "ED25519" };
    const prefix = "spec.volumes[0].projected.sources[0]";
    const rows: { name: string; source: object; faults: string[] }[] = [
      {
        name: "a clusterTrustBundle by name is accepted",
        source: { clusterTrustBundle: { name: "b", path: "p" } },
        faults: [],
      },
      {
        name: "clusterTrustBundle by name and labels",
        source: { clusterTrustBundle: { name: "b", labelSelector: {}, path: "p" } },
        faults: [
          `${prefix}.clusterTrustBundle.labelSelector: Invalid value: {}: labelSelector must be unset if name is specified`,
        ],
      },
      {
        name: "a clusterTrustBundle without name and signerName is refused",
        source: { clusterTrustBundle: { path: "p" } },
        faults: [
          `${prefix}.clusterTrustBundle: Required value: either name or signerName must be specified`,
        ],
      },
      {
        name: "podCertificate",
        source: { podCertificate: { ...certificate, keyPath: "k" } },
        faults: [],
      },
      {
        name: "podCertificate with an unknown key type, too short a life and no path",
        source: {
          podCertificate: { ...certificate, keyType: "X", maxExpirationSeconds: 60 },
        },
        faults: [
          `${prefix}.podCertificate.keyType: Unsupported value: "X": supported values: "RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"`,
          `${prefix}.podCertificate.maxExpirationSeconds: Invalid value: 60: if provided, maxExpirationSeconds must be >= 3600`,
          `${prefix}.podCertificate: Required value: specify at least one of credentialBundlePath, keyPath, and certificateChainPath`,
        ],
      },
    ];
    test.each(rows)("$name", ({ source, faults }) => {
      const volumes = [{ name: "v", projected: { sources: [source] } }];
      const outcome = runPod({ volumes }, {}, { context });
      assert.deepEqual(outcome.faults, faults);
      assert.deepEqual(outcome.object.spec.volumes?.[0]?.projected?.sources, [source]);
    });
  });
});
