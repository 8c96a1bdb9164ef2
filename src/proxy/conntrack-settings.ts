/**
 * Limits and timeouts of connection tracking that the settings of the proxy name. What they do not name
 * is left to the machine.
 */
import { writeFile } from "node:fs/promises";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";

/** Under upstream's names; zero leaves a setting as it is. */
export interface ConntrackSettings {
  readonly maxPerCore?: number;
  /** Least number of connections, however few cores there are. */
  readonly min?: number;
  readonly tcpEstablishedTimeoutMs?: number;
  readonly tcpCloseWaitTimeoutMs?: number;
  readonly tcpBeLiberal?: boolean;
  readonly udpTimeoutMs?: number;
  readonly udpStreamTimeoutMs?: number;
}

const FOLDER = "/proc/sys/net/netfilter";

/** A setting that cannot be written, as inside many containers, is logged and left. */
export async function applyConntrackSettings(
  settings: ConntrackSettings,
  cores: number,
  logger: Logger,
): Promise<void> {
  for (const [name, value] of decideConntrackSysctls(settings, cores)) {
    await writeFile(`${FOLDER}/${name}`, String(value)).catch((error: unknown) =>
      logger.warn("a conntrack setting is left as it is", { name, why: messageOf(error) }),
    );
  }
}

export function decideConntrackSysctls(
  settings: ConntrackSettings,
  cores: number,
): readonly (readonly [name: string, value: number])[] {
  const { maxPerCore = 0, min = 0, tcpBeLiberal = false } = settings;
  const seconds = (ms = 0): number => Math.floor(ms / 1000);
  const all = [
    ["nf_conntrack_max", maxPerCore > 0 ? Math.max(min, maxPerCore * cores) : 0],
    ["nf_conntrack_tcp_timeout_established", seconds(settings.tcpEstablishedTimeoutMs)],
    ["nf_conntrack_tcp_timeout_close_wait", seconds(settings.tcpCloseWaitTimeoutMs)],
    ["nf_conntrack_tcp_be_liberal", tcpBeLiberal ? 1 : 0],
    ["nf_conntrack_udp_timeout", seconds(settings.udpTimeoutMs)],
    ["nf_conntrack_udp_timeout_stream", seconds(settings.udpStreamTimeoutMs)],
  ] as const;
  return all.filter(([, value]) => value > 0);
}
