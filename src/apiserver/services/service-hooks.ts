/** What writing a Service takes from the cluster: addresses and node ports. */

import type { Service } from "#api/generated/core.v1.ts";
import type { Draft } from "#api/kind.ts";
import { endpointsKind } from "#api/kinds/core/v1/endpoints.ts";
import { alignClusterIps } from "#api/kinds/core/v1/service/cluster-ips.ts";
import { decideFamilies } from "#api/kinds/core/v1/service/ip-families.ts";
import { keepAllocatedValues, needsHealthCheckPort } from "#api/kinds/core/v1/service/types.ts";
import { type Result, success } from "#api/meta/status.ts";
import type { Objects } from "../storage/objects.ts";
import type { Finish, WriteHooks } from "../write/write-hooks.ts";
import { takeAddresses } from "./cluster-addresses.ts";
import type { IpAllocator } from "./ip-allocator.ts";
import { nodePortsOf, takeNodePorts } from "./node-ports.ts";
import type { PortAllocator } from "./port-allocator.ts";
import { refused } from "./refusal.ts";

export interface ServiceHooksOptions {
  readonly objects: Objects;
  readonly addresses: IpAllocator;
  readonly ports: PortAllocator;
}

export function createServiceHooks({ objects, addresses, ports }: ServiceHooksOptions): WriteHooks {
  const { families } = addresses;

  const begin = async (
    draft: Draft<Service>,
    old: Service | undefined,
    dryRun: boolean,
  ): Promise<Result<Finish>> => {
    const faults = decideFamilies(draft, old, families);
    if (faults.length > 0) return refused(draft, faults);
    const taken = await takeAddresses(addresses, draft, old, dryRun);
    if (!taken.ok) return taken;
    const giveBack = async (given: readonly string[]): Promise<void> => {
      if (!dryRun) for (const address of given) await addresses.release(address);
    };
    const nodePorts = await takeNodePorts(ports, draft, old, dryRun);
    if (!nodePorts.ok) {
      await giveBack(taken.value.added);
      return nodePorts;
    }
    return success(async (written) => {
      await giveBack(written ? taken.value.dropped : taken.value.added);
      await nodePorts.value(written);
    });
  };

  return {
    beginCreate: async (object, dryRun) => {
      const draft = object as Draft<Service>;
      alignClusterIps(draft, undefined);
      return await begin(draft, undefined, dryRun);
    },
    beginUpdate: async (object, before, dryRun) => {
      const draft = object as Draft<Service>;
      const old = before as Service;
      keepAllocatedValues(draft, old);
      alignClusterIps(draft, old);
      return await begin(draft, old, dryRun);
    },
    afterDelete: async (object) => {
      const { metadata, spec } = object as Service;
      const { name = "", namespace = "" } = metadata;
      await objects.delete(endpointsKind, namespace, name);
      if (spec.type !== "ExternalName") {
        for (const ip of spec.clusterIPs ?? []) if (ip !== "None") await addresses.release(ip);
      }
      const used = nodePortsOf(spec);
      if (needsHealthCheckPort(spec) && spec.healthCheckNodePort)
        used.push(spec.healthCheckNodePort);
      if (used.length > 0) await ports.release(used);
      return undefined;
    },
  };
}
