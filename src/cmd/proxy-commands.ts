/** The service proxy in a file of its own when built: with the whole server side loaded it would take 50 MB more. */
import type { Command } from "./command.ts";
import { proxyCommand } from "./proxy/proxy-command.ts";

export const commands: readonly Command[] = [proxyCommand];
