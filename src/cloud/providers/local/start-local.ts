/** The local provider as `--cloud-provider local` and `k8ts up` run it: on this machine's addresses. */

import { readYaml } from "#api/codec/yaml-reader.ts";
import type { Service } from "#api/generated/core.v1.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import type { Client } from "#client/client.ts";
import { ownAddresses } from "#host/own-addresses.ts";
import type { CloudProvider, ProviderContext } from "../../provider.ts";
import { wantsLoadBalancer } from "../../service/load-balancer-facts.ts";
import { type AddressHolder, createLocalProvider } from "./local-provider.ts";
import { LOCAL_RANGES } from "./local-ranges.ts";

/** The file of `--cloud-config` may say `ranges: [CIDR, …]`. */
export function startLocal({ config, client }: ProviderContext): CloudProvider {
  return localProviderOf(rangesIn(config), client);
}

/** The machine has the addresses, and the proxy's rules know where to send packets. */
const MACHINE_ADDRESSES: AddressHolder = {
  list: ownAddresses.list,
  place: (address, _service, _nodes, signal) => ownAddresses.add(address, signal),
  remove: ownAddresses.remove,
};

export function localProviderOf(
  ranges: readonly string[],
  client: Client,
  addresses = MACHINE_ADDRESSES,
): CloudProvider {
  const services = async (signal: AbortSignal): Promise<readonly Service[]> => {
    const listed = await client.list(serviceKind, {}, signal);
    if (!listed.ok) throw new Error(listed.status.message ?? "Services cannot be listed");
    return listed.value.items.filter(wantsLoadBalancer);
  };
  return createLocalProvider({ ranges, addresses, services });
}

function rangesIn(config: string): readonly string[] {
  if (config.trim() === "") return LOCAL_RANGES;
  const read = readYaml(config);
  if (!read.ok) throw new Error(`cloud config: ${read.error}`);
  const ranges = (read.value as { readonly ranges?: unknown } | null)?.ranges ?? LOCAL_RANGES;
  if (Array.isArray(ranges) && ranges.every((range) => typeof range === "string")) return ranges;
  throw new Error("cloud config: ranges must be a list of CIDRs");
}
