/**
 * The node's CSINode object, and what drivers add to the Node: their node IDs (an annotation) and
 * topology (labels). Changes are applied one after the other; conflicts are tried again.
 */
import type { Node } from "#api/generated/core.v1.ts";
import type { CSINode, CSINodeDriver } from "#api/generated/storage.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { MIGRATED_DRIVERS } from "#api/kinds/core/v1/persistent-volume/csi-migration.ts";
import { csiNodeKind } from "#api/kinds/storage/v1/csi-node.ts";
import { goMapJson } from "#api/meta/go-json.ts";
import type { Client } from "#client/client.ts";
import type { CsiDriverInfo, DriverDirectory } from "./csi-drivers.ts";

const NODE_ID_ANNOTATION = "csi.volume.kubernetes.io/nodeid";
const MIGRATED_ANNOTATION = "storage.alpha.kubernetes.io/migrated-plugins";
/** In-tree volumes that CSI drivers serve now; upstream's kubelet announces the same list. */
const MIGRATED = [...MIGRATED_DRIVERS.keys()].join(",");
const ATTEMPTS_MAX = 5;

export class CsiNodeDirectory implements DriverDirectory {
  readonly #client: Client;
  readonly #nodeName: string;
  #last: Promise<unknown> = Promise.resolve();

  constructor(client: Client, nodeName: string) {
    this.#client = client;
    this.#nodeName = nodeName;
  }

  /** The CSINode exists afterwards, also on a node without drivers. */
  ensure(): Promise<void> {
    return this.#inTurn(() => this.#change((drivers) => drivers));
  }

  install(driver: CsiDriverInfo): Promise<void> {
    return this.#inTurn(async () => {
      await this.#annotate(driver);
      await this.#change((drivers) => withDriver(drivers, driver));
    });
  }

  uninstall(name: string): Promise<void> {
    return this.#inTurn(async () => {
      await this.#change((drivers) => drivers.filter((driver) => driver.name !== name));
      await this.#setNodeIds(await this.#node(), ({ [name]: _, ...others }) => others, {});
    });
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }

  async #node(): Promise<Node> {
    const found = await this.#client.get(nodeKind, { name: this.#nodeName });
    if (!found.ok) throw new Error(found.status.message);
    return found.value;
  }

  async #annotate({ name, nodeId, topology }: CsiDriverInfo): Promise<void> {
    const node = await this.#node();
    for (const [key, value] of Object.entries(topology)) {
      const known = node.metadata.labels?.[key];
      if (known === undefined || known === value) continue;
      throw new Error(
        `detected topology value collision: driver reported "${key}":"${value}" but existing label is "${key}":"${known}"`,
      );
    }
    await this.#setNodeIds(node, (ids) => ({ ...ids, [name]: nodeId }), topology);
  }

  async #setNodeIds(
    { metadata }: Node,
    change: (ids: Readonly<Record<string, string>>) => Readonly<Record<string, string>>,
    labels: Readonly<Record<string, string>>,
  ): Promise<void> {
    const text = metadata.annotations?.[NODE_ID_ANNOTATION];
    const next = change(parseIds(text));
    const value = Object.keys(next).length === 0 ? null : goMapJson(next);
    const isLabelled = Object.entries(labels).every(
      ([key, label]) => metadata.labels?.[key] === label,
    );
    if ((value ?? undefined) === text && isLabelled) return;
    const patch = { metadata: { annotations: { [NODE_ID_ANNOTATION]: value }, labels } };
    const key = { name: this.#nodeName };
    const answer = await this.#client.patch(nodeKind, key, "strategic", patch);
    if (!answer.ok) throw new Error(answer.status.message);
  }

  async #change(
    change: (drivers: readonly CSINodeDriver[]) => readonly CSINodeDriver[],
  ): Promise<void> {
    let why = "";
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const found = await this.#client.get(csiNodeKind, { name: this.#nodeName });
      if (!found.ok && found.status.code !== 404) throw new Error(found.status.message);
      const answer = found.ok
        ? await this.#update(found.value, change(found.value.spec.drivers ?? []))
        : await this.#client.create(csiNodeKind, await this.#empty(change([])));
      if (answer === undefined || answer.ok) return;
      why = answer.status.message ?? "";
    }
    throw new Error(`error updating CSINode: ${why}`);
  }

  async #update(object: CSINode, drivers: readonly CSINodeDriver[]) {
    const before = object.spec.drivers ?? [];
    if (JSON.stringify(before) === JSON.stringify(drivers)) return undefined;
    // A driver that came back with another node ID or topology must be removed first.
    const kept = drivers.filter((driver) => before.every((old) => isCompatible(old, driver)));
    const { metadata } = object;
    const first = { ...object, metadata, spec: { drivers: kept } };
    const answer = await this.#client.update(csiNodeKind, first);
    if (!answer.ok || kept.length === drivers.length) return answer;
    return this.#client.update(csiNodeKind, { ...answer.value, spec: { drivers } });
  }

  async #empty(drivers: readonly CSINodeDriver[]): Promise<CSINode> {
    const { metadata } = await this.#node();
    const { name = "", uid = "" } = metadata;
    return {
      apiVersion: "storage.k8s.io/v1",
      kind: "CSINode",
      metadata: {
        name,
        annotations: { [MIGRATED_ANNOTATION]: MIGRATED },
        ownerReferences: [{ apiVersion: "v1", kind: "Node", name, uid }],
      },
      spec: { drivers },
    };
  }
}

function isCompatible(old: CSINodeDriver, next: CSINodeDriver): boolean {
  if (old.name !== next.name) return true;
  const { allocatable: _, ...before } = old;
  const { allocatable: __, ...after } = next;
  return JSON.stringify(before) === JSON.stringify(after);
}

function withDriver(
  drivers: readonly CSINodeDriver[],
  { name, nodeId, volumesMax, topology }: CsiDriverInfo,
): readonly CSINodeDriver[] {
  const topologyKeys = Object.keys(topology).sort();
  return [
    ...drivers.filter((driver) => driver.name !== name),
    {
      name,
      nodeID: nodeId,
      topologyKeys: topologyKeys.length === 0 ? null : topologyKeys,
      ...(volumesMax > 0 ? { allocatable: { count: volumesMax } } : {}),
    },
  ];
}

function parseIds(text: string | undefined): Readonly<Record<string, string>> {
  if (text === undefined || text === "") return {};
  const ids: unknown = JSON.parse(text);
  return typeof ids === "object" && ids !== null ? (ids as Record<string, string>) : {};
}
