/** Which cluster addresses a write of a Service takes, and which it no longer needs. */
import type { Service } from "#api/generated/core.v1.ts";
import type { Draft } from "#api/kind.ts";
import { failure, internalErrorStatus, type Result, success } from "#api/meta/status.ts";
import { invalid } from "#api/validation/field-error.ts";
import { Path } from "#api/validation/path.ts";
import type { Family, IpAllocator } from "./ip-allocator.ts";
import { refused } from "./refusal.ts";

export interface TakenAddresses {
  readonly added: readonly string[];
  /** To be given back once the write has succeeded. */
  readonly dropped: readonly string[];
}

const NOTHING: TakenAddresses = { added: [], dropped: [] };

/** Fills in the addresses of the draft. */
export async function takeAddresses(
  allocator: IpAllocator,
  draft: Draft<Service>,
  old: Service | undefined,
  dryRun: boolean,
): Promise<Result<TakenAddresses>> {
  const { spec } = draft;
  if (spec.type === "ExternalName") {
    const before = old === undefined || old.spec.type === "ExternalName" ? [] : old.spec.clusterIPs;
    return success({ added: [], dropped: (before ?? []).filter((ip) => ip !== "None") });
  }
  if (spec.clusterIPs?.[0] === "None") return success(NOTHING);
  const had =
    old === undefined || old.spec.type === "ExternalName" ? [] : (old.spec.clusterIPs ?? []);
  if (had[0] === "None") return success(NOTHING);

  const families = (spec.ipFamilies ?? []) as Family[];
  const dropped = had.slice(families.length);
  const added = await allocateMissing(allocator, draft, had, dryRun);
  return added.ok ? success({ added: added.value, dropped }) : added;
}

async function allocateMissing(
  allocator: IpAllocator,
  draft: Draft<Service>,
  had: readonly string[],
  dryRun: boolean,
): Promise<Result<string[]>> {
  const { spec } = draft;
  const families = (spec.ipFamilies ?? []) as Family[];
  const wanted = families.map((_, i) => spec.clusterIPs?.[i] ?? "");
  const added: string[] = [];
  for (const [i, family] of families.entries()) {
    const asked = wanted[i]!;
    // An address that is there already is kept; changing it is a matter of validation.
    if (i < had.length) continue;
    const owner = draft as Service;
    const got =
      asked === ""
        ? await allocator.allocateNext(family, owner, dryRun)
        : await allocator.allocate(asked, owner, dryRun);
    if (!got.ok) {
      if (!dryRun) for (const address of added) await allocator.release(address);
      if (got.full) {
        const why = `failed to allocate a serviceIP for Service "${draft.metadata.name}": ${got.error}`;
        return failure(internalErrorStatus(why));
      }
      const what = asked === "" ? "IP" : `IP ${asked}`;
      const detail = `failed to allocate ${what}: ${got.error}`;
      const shown = [...wanted.slice(0, Math.max(1, spec.clusterIPs?.length ?? 0))];
      return refused(draft, [invalid(Path.of("spec", "clusterIPs"), shown, detail)]);
    }
    added.push(got.address);
    wanted[i] = got.address;
  }
  spec.clusterIPs = wanted;
  if (wanted[0] !== undefined) spec.clusterIP = wanted[0];
  return success(added);
}
