import assert from "node:assert/strict";
import { test } from "vitest";
import { persistentVolumeKind } from "#api/kinds/core/v1/persistent-volume/persistent-volume.ts";
import { csiDriverKind } from "#api/kinds/storage/v1/csi-driver.ts";
import { build } from "#testing/build.ts";
import { csiAccessMode } from "./csi-messages.ts";
import {
  appliesFsGroup,
  attachmentName,
  volumeCapability,
  whyNotLifecycle,
} from "./csi-requests.ts";

test("CSI access modes: ReadWriteOnce and ReadWriteOncePod depend on SINGLE_NODE_MULTI_WRITER", () => {
  const modes = ["ReadWriteOnce", "ReadWriteOncePod", "ReadOnlyMany", "ReadWriteMany"];
  assert.deepEqual(
    modes.map((mode) => csiAccessMode(mode, false)),
    [1, 1, 3, 5],
  );
  assert.deepEqual(
    modes.map((mode) => csiAccessMode(mode, true)),
    [7, 6, 3, 5],
  );
});

test("CSI fsGroupPolicy: ReadWriteOnceWithFSType needs a file system type and a single writer", () => {
  const volume = (mode: "ReadWriteOnce" | "ReadWriteMany") =>
    build(persistentVolumeKind, { metadata: { name: "v" }, spec: { accessModes: [mode] } });
  const policy = "ReadWriteOnceWithFSType";
  assert.equal(appliesFsGroup(policy, "ext4", volume("ReadWriteOnce")), true);
  assert.equal(appliesFsGroup(policy, "ext4", volume("ReadWriteMany")), false);
  assert.equal(appliesFsGroup(policy, "", volume("ReadWriteOnce")), false);
  assert.equal(appliesFsGroup("File", "", volume("ReadWriteMany")), true);
  assert.equal(appliesFsGroup("None", "ext4", volume("ReadWriteOnce")), false);
});

test("CSI volumeLifecycleModes: an inline volume is refused unless the CSIDriver has Ephemeral", () => {
  const driver = build(csiDriverKind, { metadata: { name: "d" }, spec: {} });
  assert.match(whyNotLifecycle(driver, "d", "Ephemeral") ?? "", /"Ephemeral" not supported/);
  assert.match(whyNotLifecycle(undefined, "d", "Ephemeral") ?? "", /no CSIDriver object/);
  assert.equal(whyNotLifecycle(driver, "d", "Persistent"), undefined);
  const both = build(csiDriverKind, {
    metadata: { name: "d" },
    spec: { volumeLifecycleModes: ["Persistent", "Ephemeral"] },
  });
  assert.equal(whyNotLifecycle(both, "d", "Ephemeral"), undefined);
});

test("CSI VolumeCapability: volume_mount_group only with VOLUME_MOUNT_GROUP, nothing of a mount for Block", () => {
  const options = {
    ...{ fsType: "ext4", mountOptions: ["noatime"], accessMode: "ReadWriteOnce" },
    ...{ separatesWriters: false, mountGroup: 2000 },
  };
  assert.deepEqual(volumeCapability({ ...options, isBlock: false }), {
    mount: { fsType: "ext4", mountFlags: ["noatime"], volumeMountGroup: "2000" },
    accessMode: { mode: 1 },
  });
  assert.deepEqual(volumeCapability({ ...options, isBlock: true }), {
    block: {},
    accessMode: { mode: 1 },
  });
});

test("VolumeAttachment name: the hash of handle, driver and node that every kubelet computes", () => {
  assert.equal(
    attachmentName("vol", "driver", "node"),
    "csi-4af94228ee9d441e02225497584706bfc975bdb4d2db3571d8c5db2668c1e969",
  );
});
