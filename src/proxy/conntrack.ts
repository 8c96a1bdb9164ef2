/**
 * Removes connection tracking entries of UDP Services that lead to endpoints which are gone. TCP ends
 * such connections by itself; a UDP client that keeps its port would be sent to the old address for ever.
 */

import type { IpFamily } from "#api/meta/ip-family.ts";
import { runProgram } from "#host/run-program.ts";
import type { Logger } from "#lib/logger.ts";
import { reachableEndpoints, type ServiceRules } from "./rules/service-rules.ts";

const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;

/** One tracked UDP flow, as `conntrack -L` prints it. */
export interface UdpFlow {
  readonly source: string;
  readonly destination: string;
  readonly sourcePort: number;
  readonly destinationPort: number;
  /** Where answers come from: the endpoint. */
  readonly replySource: string;
  readonly replySourcePort: number;
}

export async function removeStaleUdpFlows(
  family: IpFamily,
  services: ServiceRules,
  nodeAddresses: readonly string[],
  logger: Logger,
): Promise<void> {
  const flags = ["-f", family.toLowerCase(), "-p", "udp"];
  const options = { outputBytesMax: OUTPUT_BYTES_MAX };
  const { exitCode, stdout, stderr } = await runProgram("conntrack", ["-L", ...flags], options);
  if (exitCode !== 0) {
    logger.warn("conntrack entries could not be listed", { stderr: stderr.trim() });
    return;
  }
  const stale = decideStaleFlows(parseFlows(stdout), services, nodeAddresses);
  for (const selection of selectionsOf(stale)) {
    await runProgram("conntrack", ["-D", ...flags, ...selection]);
  }
  if (stale.length > 0) logger.info("stale UDP conntrack entries deleted", { count: stale.length });
}

/** Flows to an address of a UDP Service whose answers do not come from one of its endpoints. */
export function decideStaleFlows(
  flows: readonly UdpFlow[],
  services: ServiceRules,
  nodeAddresses: readonly string[],
): readonly UdpFlow[] {
  const byAddress = new Map<string, Set<string>>();
  for (const rules of services.keys().flatMap((key) => services.get(key))) {
    if (rules.protocol !== "udp") continue;
    const sockets = new Set(reachableEndpoints(rules).map(({ ip, port }) => `${ip} ${port}`));
    for (const ip of [rules.clusterIp, ...rules.externalIps, ...rules.loadBalancerIps]) {
      byAddress.set(`${ip} ${rules.port}`, sockets);
    }
    if (rules.nodePort === undefined) continue;
    for (const ip of nodeAddresses) byAddress.set(`${ip} ${rules.nodePort}`, sockets);
  }
  return flows.filter(({ destination, destinationPort, replySource, replySourcePort }) => {
    const sockets = byAddress.get(`${destination} ${destinationPort}`);
    return sockets !== undefined && !sockets.has(`${replySource} ${replySourcePort}`);
  });
}

/**
 * Arguments of `conntrack -D` that select the flows. Flows of all clients from one address of a Service to
 * one endpoint are one selection: a busy DNS server has thousands of them.
 */
export function selectionsOf(flows: readonly UdpFlow[]): readonly (readonly string[])[] {
  const selections = flows.map((flow) => [
    ...["--orig-dst", flow.destination, "--orig-port-dst", `${flow.destinationPort}`],
    ...["--reply-src", flow.replySource, "--reply-port-src", `${flow.replySourcePort}`],
  ]);
  return [...new Map(selections.map((selection) => [selection.join(" "), selection])).values()];
}

export function parseFlows(text: string): UdpFlow[] {
  return text.split("\n").flatMap((line) => {
    const all = (name: string): string[] =>
      [...line.matchAll(new RegExp(`\\b${name}=(\\S+)`, "g"))].map(([, value = ""]) => value);
    const [source, replySource] = all("src");
    const [destination] = all("dst");
    const [sourcePort, replySourcePort] = all("sport");
    const [destinationPort] = all("dport");
    if (source === undefined || destination === undefined || replySource === undefined) return [];
    return [
      {
        ...{ source, destination, replySource },
        sourcePort: Number(sourcePort),
        destinationPort: Number(destinationPort),
        replySourcePort: Number(replySourcePort),
      },
    ];
  });
}
