import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import type { Pod } from "#api/generated/core.v1.ts";
import { NAMESPACE_MODE } from "#kubelet/cri/common-messages.ts";
import { createUserNamespaces } from "./create-user-namespaces.ts";
import { parseSubIds } from "./id-range.ts";

const IDS = 65_536;
const HANDLERS = [
  { name: "", features: { userNamespaces: true } },
  { name: "old", features: { userNamespaces: false } },
];

const pod = (uid: string, hostUsers?: boolean): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { uid },
  spec: { containers: [], ...(hostUsers === undefined ? {} : { hostUsers }) },
  status: {},
});

async function inFolder(work: (root: string) => Promise<void>): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), "k8ts-userns-"));
  try {
    await work(root);
  } finally {
    await rm(root, { recursive: true });
  }
}

const open = (root: string, subIds?: string, handlers: typeof HANDLERS = HANDLERS) =>
  createUserNamespaces(
    {
      ...{ idsPerPod: IDS, podsMax: 2, paths: { root, logs: root } },
      handlers: () => handlers,
    },
    async () => (subIds === undefined ? undefined : { uids: subIds, gids: subIds }),
  );

test("hostUsers: false: pods get id ranges of their own, also after a restart of the kubelet", () =>
  inFolder(async (root) => {
    const first = await open(root);
    const handler = async (): Promise<string> => "";
    assert.deepEqual(await first.of(pod("a"), handler), { mode: NAMESPACE_MODE.NODE });
    assert.deepEqual(await first.of(pod("a", true), handler), { mode: NAMESPACE_MODE.NODE });
    const mapping = [{ hostId: IDS, containerId: 0, length: IDS }];
    assert.deepEqual(await first.of(pod("a", false), handler), {
      ...{ mode: NAMESPACE_MODE.POD, uids: mapping, gids: mapping },
    });
    assert.equal(
      await readFile(join(root, "pods", "a", "userns"), "utf8"),
      '{"uidMappings":[{"hostId":65536,"containerId":0,"length":65536}],"gidMappings":[{"hostId":65536,"containerId":0,"length":65536}]}',
    );
    const second = await open(root);
    assert.equal((await second.of(pod("b", false), handler)).uids?.[0]?.hostId, 2 * IDS);
    assert.equal((await second.of(pod("a", false), handler)).uids?.[0]?.hostId, IDS);
    second.release("a");
    assert.equal((await second.of(pod("c", false), handler)).uids?.[0]?.hostId, IDS);
  }));

test("hostUsers: false is refused where the runtime or its handler has no user namespaces", () =>
  inFolder(async (root) => {
    const words = "can't set `spec.hostUsers: false`, ";
    const rows = [
      ["", [], "runtime does not support user namespaces"],
      ["old", HANDLERS, 'RuntimeClass handler "old" does not support user namespaces'],
      [
        "new",
        HANDLERS,
        'RuntimeClass handler "new" does not support user namespaces: the handler "new" is not known',
      ],
    ] as const;
    for (const [handler, handlers, why] of rows) {
      const namespaces = await open(root, undefined, [...handlers]);
      await assert.rejects(
        namespaces.of(pod("a", false), async () => handler),
        {
          message: words + why,
        },
      );
    }
  }));

test("subuid: ranges of the user kubelet are used, and refused in upstream's words", () =>
  inFolder(async (root) => {
    const namespaces = await open(root, `0: kubelet ${4 * IDS} ${2 * IDS}\n`);
    const given = await namespaces.of(pod("a", false), async () => "");
    assert.equal(given.gids?.[0]?.hostId, 4 * IDS);
    const bad = "create user namespace manager: ";
    const rows = [
      [`0: kubelet ${IDS} ${IDS}`, "kubelet user assigned IDs are not enough to support 2 pods"],
      [`0: kubelet 1 ${IDS}`, "kubelet user assigned ID 1 is not a multiple of 65536"],
      [`0: kubelet 0 ${IDS}`, "kubelet user assigned ID 0 must be greater or equal to 65536"],
      ["", 'kubelet mappings: invalid line ""'],
    ] as const;
    await rm(join(root, "pods"), { recursive: true });
    for (const [lines, why] of rows) {
      await assert.rejects(open(root, lines), { message: bad + why });
    }
    assert.deepEqual(parseSubIds("0: kubelet 65536 2147483648\n"), {
      first: 65_536,
      length: 2_147_483_648,
    });
  }));

test("userns: a damaged file of a pod ends the start of the kubelet", () =>
  inFolder(async (root) => {
    await mkdir(join(root, "pods", "a"), { recursive: true });
    await writeFile(join(root, "pods", "a", "userns"), '{"uidMappings":[]}');
    await assert.rejects(open(root), /record pod mappings for existing pod "a": invalid user/);
  }));
