/** What this project asks the program `ip` to do: routes, links and addresses of the network namespace. */
import { mustRun, runProgram } from "#host/run-program.ts";
import { isIpv6 } from "./decide-pod-routes.ts";
import { ROUTE_PROTOCOL } from "./network-marks.ts";

export interface KernelRoute {
  /** `10.244.1.0/24`; a single address has no length. */
  readonly dst: string;
  readonly type?: string;
  readonly gateway?: string;
  readonly dev?: string;
  readonly metric?: number;
}

/** The routes with a mark, of both families. */
export async function markedRoutes(metric: number): Promise<readonly KernelRoute[]> {
  const found: KernelRoute[] = [];
  for (const family of ["-4", "-6"]) {
    const args = ["-json", family, "route", "show", "proto", String(ROUTE_PROTOCOL)];
    const { exitCode, stdout } = await runProgram("ip", args);
    // Without IPv6 in the kernel there are no such routes.
    if (exitCode !== 0 || stdout.trim() === "") continue;
    found.push(...(JSON.parse(stdout) as KernelRoute[]));
  }
  return found.filter((route) => route.metric === metric);
}

export async function deleteRoute(
  { dst, type, gateway, dev }: KernelRoute,
  metric: number,
): Promise<void> {
  const words = [
    ...(type === undefined || type === "unicast" ? [] : [type]),
    dst,
    ...(gateway === undefined ? [] : ["via", gateway]),
    // The kernel keeps unreachable routes of IPv6 on the loopback device.
    ...(dev === undefined || type === "unreachable" ? [] : ["dev", dev]),
  ];
  await runProgram("ip", [family(dst), "route", "del", ...words, ...marked(metric)]);
}

export async function replaceRoute(
  cidr: string,
  where: readonly string[],
  metric: number,
): Promise<void> {
  const type = where[0] === "unreachable" ? ["unreachable"] : [];
  const rest = where.slice(type.length);
  // Next hops have to be the last words.
  const words = [...type, cidr, ...marked(metric), ...rest];
  await mustRun("ip", [family(cidr), "route", "replace", ...words]);
}

export interface LinkOf {
  readonly device: string;
  /** Whether the address is reached without a router. */
  readonly isOnLink: boolean;
}

/** How the machine reaches an address; undefined if it does not. */
export async function linkTo(address: string): Promise<LinkOf | undefined> {
  const { exitCode, stdout } = await runProgram("ip", ["-json", "route", "get", address]);
  if (exitCode !== 0) return undefined;
  const [route] = JSON.parse(stdout) as { readonly dev?: string; readonly gateway?: string }[];
  if (route?.dev === undefined) return undefined;
  return { device: route.dev, isOnLink: route.gateway === undefined };
}

interface DeviceAddresses {
  readonly ifname: string;
  readonly mtu: number;
  readonly addr_info?: readonly { readonly local: string }[];
}

/** The device that has one of the machine's own addresses. */
export async function deviceWith(
  address: string,
): Promise<{ readonly name: string; readonly mtu: number } | undefined> {
  const devices = JSON.parse(await mustRun("ip", ["-json", "addr", "show"])) as DeviceAddresses[];
  const found = devices.find(({ addr_info = [] }) =>
    addr_info.some((one) => one.local === address),
  );
  return found === undefined ? undefined : { name: found.ifname, mtu: found.mtu };
}

export async function deleteLink(device: string): Promise<void> {
  await runProgram("ip", ["link", "delete", device]); // it may be gone already
}

export async function linkExists(device: string): Promise<boolean> {
  return (await runProgram("ip", ["link", "show", "dev", device])).exitCode === 0;
}

function family(cidr: string): string {
  return isIpv6(cidr) ? "-6" : "-4";
}

function marked(metric: number): string[] {
  return ["proto", String(ROUTE_PROTOCOL), "metric", String(metric)];
}
