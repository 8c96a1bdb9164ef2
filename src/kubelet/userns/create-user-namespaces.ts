/** The user namespaces of a node, with the ids that the machine has set aside for the kubelet. */
import { readSubIds, type SubIdLines } from "#host/sub-ids.ts";
import { messageOf } from "#lib/caught.ts";
import { defaultRange, type IdRange, parseSubIds, whyUnusable } from "./id-range.ts";
import { UserNamespaces, type UserNamespacesOptions } from "./user-namespaces.ts";

const USER = "kubelet";

/** Throws in upstream's words where ids are set aside but cannot be used. */
export async function createUserNamespaces(
  options: Omit<UserNamespacesOptions, "range"> & { readonly podsMax: number },
  subIds: () => Promise<SubIdLines | undefined> = () => readSubIds(USER),
): Promise<UserNamespaces> {
  const { idsPerPod, podsMax } = options;
  try {
    const range = await rangeOf(idsPerPod, subIds);
    const why = whyUnusable(range, idsPerPod, podsMax);
    if (why !== undefined) throw new Error(why);
    const namespaces = new UserNamespaces({ ...options, range });
    await namespaces.load();
    return namespaces;
  } catch (error) {
    throw new Error(`create user namespace manager: ${messageOf(error)}`);
  }
}

async function rangeOf(
  idsPerPod: number,
  subIds: () => Promise<SubIdLines | undefined>,
): Promise<IdRange> {
  try {
    const found = await subIds();
    if (found === undefined) return defaultRange(idsPerPod);
    if (found.uids !== found.gids) {
      throw new Error(`mismatched subuids and subgids for user "${USER}"`);
    }
    return parseSubIds(found.uids);
  } catch (error) {
    throw new Error(`kubelet mappings: ${messageOf(error)}`);
  }
}
