/**
 * Repairs cluster IP and node port allocations: at the start, whenever an IPAddress or ServiceCIDR is
 * changed by another client, and periodically. Problems that need an administrator are recorded as
 * Events.
 */

import type { IPAddress } from "#api/generated/networking.v1.ts";
import { eventKind } from "#api/kinds/core/v1/event/event.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { ipAddressKind } from "#api/kinds/networking/v1/ip-address.ts";
import { serviceCidrKind } from "#api/kinds/networking/v1/service-cidr.ts";
import { microTimeFromMs } from "#api/meta/time.ts";
import { onAbort } from "#lib/async/aborted.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { Objects } from "../storage/objects.ts";
import { addressObject } from "./address-object.ts";
import type { PortAllocator } from "./port-allocator.ts";
import { type Complaint, decideAddressRepairs, type Repair } from "./repair-addresses.ts";
import { decidePortRepair } from "./repair-ports.ts";

export interface RepairOptions {
  readonly objects: Objects;
  readonly ports: PortAllocator;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly hostname: string;
}

const INTERVAL_MS = 180_000;
/** Changes come in bursts, and our own are among them. */
const SETTLE_MS = 200;

/** Lives until the signal aborts. */
export async function runServiceRepair(options: RepairOptions, signal: AbortSignal): Promise<void> {
  const { objects, clock, logger } = options;
  let wake: (() => void) | undefined;
  // New addresses are taken by Services that are about to be written.
  objects.onChange(ipAddressKind, (_next, old) => old !== undefined && wake?.(), signal);
  objects.onChange(serviceCidrKind, () => wake?.(), signal);
  let leaks: ReadonlyMap<number, number> = new Map();
  while (!signal.aborted) {
    try {
      leaks = await repairOnce(options, leaks);
    } catch (error) {
      logger.warn("what Services use could not be checked", { error });
    }
    await new Promise<void>((resolve) => {
      const go = (): void => {
        timer.cancel();
        signal.removeEventListener("abort", go);
        wake = undefined;
        resolve();
      };
      let timer = clock.schedule(INTERVAL_MS, go);
      wake = () => {
        wake = undefined;
        timer.cancel();
        timer = clock.schedule(SETTLE_MS, go);
      };
      onAbort(signal, go);
    });
  }
}

/** One round; returns the ports that seem leaked. */
export async function repairOnce(
  options: RepairOptions,
  leaked: ReadonlyMap<number, number>,
): Promise<ReadonlyMap<number, number>> {
  const { objects, ports, clock } = options;
  const services = [...objects.list(serviceKind)];
  const repairs = decideAddressRepairs({
    services,
    addresses: [...objects.list(ipAddressKind)],
    ranges: [...objects.list(serviceCidrKind)],
    nowMs: clock.nowMs(),
  });
  for (const repair of repairs) {
    if (repair.complaint !== undefined)
      await recordComplaint(options, "ipallocator", repair.complaint);
    await carryOut(objects, repair);
  }
  const repaired = await ports.rebuild((stored, range) =>
    decidePortRepair([...objects.list(serviceKind)], stored, leaked, range),
  );
  for (const complaint of repaired.complaints)
    await recordComplaint(options, "portallocator", complaint);
  return repaired.leaks;
}

async function carryOut(objects: Objects, repair: Repair): Promise<void> {
  if (repair.do === "nothing") return;
  if (repair.do !== "create") await objects.delete(ipAddressKind, "", repair.address);
  if (repair.do === "delete") return;
  const object: IPAddress = addressObject(repair.address, repair.owner);
  await objects.create(ipAddressKind, object);
}

async function recordComplaint(
  { objects, clock, logger, hostname }: RepairOptions,
  who: string,
  { about, reason, action, note }: Complaint,
): Promise<void> {
  const { name = "", namespace = "default", uid = "" } = about.metadata;
  const nowMs = clock.nowMs();
  const controller = `${who}-repair-controller`;
  logger.warn(note, { object: `${namespace}/${name}` });
  await objects.create(eventKind, {
    kind: "Event",
    apiVersion: "v1",
    metadata: { name: `${name}.${nowMs.toString(16)}${reason.toLowerCase()}`, namespace },
    involvedObject: {
      kind: about.kind ?? "",
      apiVersion: about.apiVersion ?? "",
      ...(about.metadata.namespace === undefined ? {} : { namespace }),
      name,
      uid,
      resourceVersion: about.metadata.resourceVersion ?? "",
    },
    reason,
    action,
    message: note,
    type: "Warning",
    source: {},
    eventTime: microTimeFromMs(nowMs),
    firstTimestamp: null,
    lastTimestamp: null,
    reportingComponent: controller,
    reportingInstance: `${controller}-${hostname}`,
  });
}
