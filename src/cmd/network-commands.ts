/**
 * The programs that run on every node beside the kubelet, in a file of their own when built: with the whole
 * server side loaded each of them would take 50 MB more.
 */
import type { Command } from "./command.ts";
import { dnsCommand } from "./dns/dns-command.ts";
import { proxyCommand } from "./proxy/proxy-command.ts";

export const commands: readonly Command[] = [proxyCommand, dnsCommand];
