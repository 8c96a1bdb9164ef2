/**
 * User namespaces of pods with `hostUsers: false`: each pod gets a range of ids of the machine that
 * no other pod has.
 *
 * Promises:
 * 1. A pod's range is in the file `userns` of the pod's folder, in upstream's form, before the
 *    runtime hears of it. A kubelet that starts later reads the files, and gives no range twice.
 * 2. A pod is refused in upstream's words if the runtime, or the handler of its RuntimeClass, has no
 *    user namespaces.
 */
import { join } from "node:path";
import type { Pod } from "#api/generated/core.v1.ts";
import { listFolder, readTextIfPresent, writeFileWhole } from "#host/files.ts";
import { NAMESPACE_MODE, type UserNamespace } from "#kubelet/cri/common-messages.ts";
import { type PodPaths, podFolder } from "#kubelet/pods/pod-paths.ts";
import { messageOf } from "#lib/caught.ts";
import type { IdRange } from "./id-range.ts";

export interface UserNamespacesOptions {
  readonly range: IdRange;
  readonly idsPerPod: number;
  readonly paths: PodPaths;
  /** What the runtime says of its handlers; none for a runtime that says nothing. */
  handlers(): readonly RuntimeHandler[];
}

interface RuntimeHandler {
  readonly name: string;
  readonly features?: { readonly userNamespaces: boolean } | undefined;
}

const ON_THE_HOST: UserNamespace = { mode: NAMESPACE_MODE.NODE };
const FILE = "userns";

export class UserNamespaces {
  readonly #options: UserNamespacesOptions;
  /** First id by the uid of a pod. */
  readonly #taken = new Map<string, number>();

  constructor(options: UserNamespacesOptions) {
    this.#options = options;
  }

  /** Before any pod is started. Throws if a file is damaged or two pods have the same ids. */
  async load(): Promise<void> {
    for (const uid of await listFolder(join(this.#options.paths.root, "pods"))) {
      try {
        await this.#stored(uid);
      } catch (error) {
        throw new Error(`record pod mappings for existing pod "${uid}": ${messageOf(error)}`);
      }
    }
  }

  /** `handler`: of the pod's RuntimeClass. Asked for only if the pod wants a namespace of its own. */
  async of(pod: Pod, handler: () => Promise<string>): Promise<UserNamespace> {
    if (pod.spec.hostUsers !== false) return ON_THE_HOST;
    this.#refuseUnsupported(await handler());
    const uid = pod.metadata.uid ?? "";
    let first: number | undefined;
    try {
      first = await this.#stored(uid);
    } catch (error) {
      throw new Error(`user namespace: ${messageOf(error)}`);
    }
    return this.#namespaceAt(first ?? (await this.#allocate(uid)));
  }

  release(uid: string): void {
    this.#taken.delete(uid);
  }

  #refuseUnsupported(handler: string): void {
    const handlers = this.#options.handlers();
    const found = handlers.find(({ name }) => name === handler);
    if (found?.features?.userNamespaces) return;
    const what = handler === "" ? "runtime" : `RuntimeClass handler "${handler}"`;
    const why = `can't set \`spec.hostUsers: false\`, ${what} does not support user namespaces`;
    if (handlers.length === 0 || found !== undefined) throw new Error(why);
    throw new Error(`${why}: the handler "${handler}" is not known`);
  }

  async #allocate(uid: string): Promise<number> {
    const { range, idsPerPod, paths } = this.#options;
    const taken = new Set(this.#taken.values());
    for (let first = range.first; first < range.first + range.length; first += idsPerPod) {
      if (taken.has(first)) continue;
      this.#taken.set(uid, first);
      const mapping = [{ hostId: first, containerId: 0, length: idsPerPod }];
      const text = JSON.stringify({ uidMappings: mapping, gidMappings: mapping });
      try {
        await writeFileWhole(join(podFolder(paths, uid), FILE), text, { durable: true });
      } catch (error) {
        this.#taken.delete(uid);
        throw new Error(`create user namespace: ${messageOf(error)}`);
      }
      return first;
    }
    throw new Error(
      "create user namespace: could not find an empty slot to allocate a user namespace",
    );
  }

  /** Undefined if the pod has no file. */
  async #stored(uid: string): Promise<number | undefined> {
    const { paths, range, idsPerPod } = this.#options;
    const text = await readTextIfPresent(join(podFolder(paths, uid), FILE));
    if (text === undefined || text === "") return undefined;
    const { hostId, length } = parseMapping(text);
    if (length !== idsPerPod) throw new Error(`wrong user namespace length ${length}`);
    if (hostId % idsPerPod !== 0) {
      throw new Error(`wrong user namespace offset specified ${hostId}`);
    }
    const before = this.#taken.get(uid);
    if (before !== undefined && before !== hostId) {
      throw new Error(`different user namespace range already used by pod "${uid}"`);
    }
    if (hostId < range.first || hostId >= range.first + range.length) {
      throw new Error(`id ${hostId} is out of range`);
    }
    if (before === undefined && [...this.#taken.values()].includes(hostId)) {
      throw new Error(`range picked for pod "${uid}" already taken`);
    }
    this.#taken.set(uid, hostId);
    return hostId;
  }

  #namespaceAt(first: number): UserNamespace {
    const mapping = [{ hostId: first, containerId: 0, length: this.#options.idsPerPod }];
    return { mode: NAMESPACE_MODE.POD, uids: mapping, gids: mapping };
  }
}

interface Mapping {
  readonly hostId: number;
  readonly containerId: number;
  readonly length: number;
}

function parseMapping(text: string): Mapping {
  let stored: { uidMappings?: Mapping[] | null; gidMappings?: Mapping[] | null };
  try {
    stored = JSON.parse(text);
  } catch (error) {
    throw new Error(`invalid user namespace mappings file: ${messageOf(error)}`);
  }
  const [uids, gids] = [stored.uidMappings ?? [], stored.gidMappings ?? []];
  const [uid, gid] = [uids[0], gids[0]];
  const bad = "invalid user namespace configuration:";
  if (uids.length !== 1 || uid === undefined) {
    throw new Error(`${bad} no more than one mapping allowed.`);
  }
  if (gids.length !== 1 || gid === undefined) {
    throw new Error(`${bad} GID and UID mappings should be identical.`);
  }
  const isSame =
    uid.hostId === gid.hostId && uid.containerId === gid.containerId && uid.length === gid.length;
  if (!isSame) throw new Error(`${bad} GID and UID mapping should be identical`);
  if (uid.containerId !== 0) throw new Error(`${bad} UID 0 must be mapped`);
  return uid;
}
