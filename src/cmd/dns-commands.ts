/** The DNS server in a file of its own when built: with the whole server side loaded it would take 50 MB more. */
import type { Command } from "./command.ts";
import { dnsCommand } from "./dns/dns-command.ts";

export const commands: readonly Command[] = [dnsCommand];
