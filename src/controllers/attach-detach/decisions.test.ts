import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Node, Pod } from "#api/generated/core.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { persistentVolumeKind } from "#api/kinds/core/v1/persistent-volume/persistent-volume.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { volumeAttachmentKind } from "#api/kinds/storage/v1/volume-attachment.ts";
import { build } from "#testing/build.ts";
import { describeOutcome, type OutcomeText } from "#testing/decisions.ts";
import type { Attachment } from "./attachment.ts";
import { decideNode, decideVolume } from "./decisions.ts";

const NOW_MS = Date.parse("2030-01-01T00:00:00Z");
const UNIQUE = "kubernetes.io/csi/csi.example^h";

const volume = (mode: string) =>
  build(persistentVolumeKind, {
    metadata: { name: "v" },
    spec: { accessModes: [mode], csi: { driver: "csi.example", volumeHandle: "h" } },
  });
const pod = (name: string, nodeName: string): Pod =>
  build(podKind, { metadata: { name }, spec: { nodeName, containers: [{ name: "c" }] } });

function node(listed: boolean, inUse: boolean): Node {
  return build(nodeKind, {
    metadata: { name: "a" },
    status: {
      conditions: [{ type: "Ready", status: "True" }],
      ...(listed ? { volumesAttached: [{ name: UNIQUE, devicePath: "" }] } : {}),
      ...(inUse ? { volumesInUse: [UNIQUE] } : {}),
    },
  });
}

function attachment(on: Node, users: readonly Pod[], attached = true): Attachment {
  const object = build(volumeAttachmentKind, {
    metadata: { name: "x" },
    spec: { attacher: "csi.example", nodeName: "a", source: { persistentVolumeName: "v" } },
    status: { attached },
  });
  return { object, volume: volume("ReadWriteOnce"), node: on, users, unusedSinceMs: undefined };
}

const P = pod("p", "a");
const Q = pod("q", "b");
const RWO = volume("ReadWriteOnce");

describe("attachments of a volume", () => {
  const rows: {
    name: string;
    volume?: typeof RWO;
    users: readonly Pod[];
    attachments: readonly Attachment[];
    notifiedNodes?: readonly string[];
    want: Omit<OutcomeText, "writes"> & { readonly ops: readonly string[] };
  }[] = [
    { name: "used, not attached", users: [P], attachments: [], want: { ops: ["create"] } },
    {
      name: "attached where it is used",
      users: [P],
      attachments: [attachment(node(true, true), [P])],
      want: { ops: [] },
    },
    {
      name: "a ReadWriteOnce volume waits for its first node (FailedAttachVolume)",
      users: [P, Q],
      attachments: [attachment(node(true, true), [P])],
      want: {
        ops: [],
        events: [
          'Warning FailedAttachVolume: Waiting for detach for volume "v" Volume is already used by pod(s) p',
        ],
      },
    },
    {
      name: "the Multi-Attach event is recorded once per node",
      users: [P, Q],
      attachments: [attachment(node(true, true), [P])],
      notifiedNodes: ["b"],
      want: { ops: [] },
    },
    {
      name: "attached to another node, where no pod uses it any more",
      users: [Q],
      attachments: [attachment(node(true, true), [])],
      want: {
        ops: [],
        recheckInMs: 360_000,
        events: [
          'Warning FailedAttachVolume: Waiting for detach for volume "v" Volume is already exclusively attached to one node, waiting on detach before it can be attached to another node',
        ],
      },
    },
    {
      name: "two nodes at once: one of them waits",
      users: [P, Q],
      attachments: [],
      want: {
        ops: ["create"],
        events: [
          'Warning FailedAttachVolume: Waiting for detach for volume "v" Volume is already used by pod(s) p',
        ],
      },
    },
    {
      name: "a ReadWriteMany volume is attached to every node",
      volume: volume("ReadWriteMany"),
      users: [P, Q],
      attachments: [],
      want: { ops: ["create", "create"] },
    },
    {
      name: "unused, but the node still lists it",
      users: [],
      attachments: [attachment(node(true, false), [])],
      want: { ops: [], recheckInMs: 360_000 },
    },
    {
      name: "unused and no longer listed",
      users: [],
      attachments: [attachment(node(false, false), [])],
      want: { ops: ["delete"], recheckInMs: 360_000 },
    },
  ];
  for (const {
    name,
    volume: of = RWO,
    users,
    attachments,
    notifiedNodes: known = [],
    want,
  } of rows) {
    test(name, () => {
      const state = { volume: of, users, attachments, notifiedNodes: new Set(known) };
      const outcome = decideVolume(state, NOW_MS);
      const { writes, ...rest } = describeOutcome(outcome);
      assert.deepEqual({ ops: writes.map((line) => line.split(" ")[0]), ...rest }, want);
    });
  }
});

describe("a node decides", () => {
  test("lists attached volumes, and records SuccessfulAttachVolume for the pods", () => {
    const on = node(false, false);
    const outcome = decideNode({ node: on, attachments: [attachment(on, [P])] }, NOW_MS);
    assert.deepEqual(describeOutcome(outcome), {
      writes: ["patch Node a/status"],
      events: ['Normal SuccessfulAttachVolume: AttachVolume.Attach succeeded for volume "v" '],
    });
  });
  test("no longer lists what may go", () => {
    const on = node(true, false);
    const outcome = decideNode({ node: on, attachments: [attachment(on, [])] }, NOW_MS);
    assert.deepEqual(describeOutcome(outcome).writes, ["patch Node a/status"]);
  });
  test("lists what is mounted, used or not", () => {
    const on = node(true, true);
    const outcome = decideNode({ node: on, attachments: [attachment(on, [])] }, NOW_MS);
    assert.deepEqual(describeOutcome(outcome).writes, []);
  });
});
