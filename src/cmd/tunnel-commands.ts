/**
 * Both ends of Konnectivity tunnels, in a file of their own when built: an agent that was killed has to be
 * there again at once, and the whole server side takes five times as long to load.
 */
import type { Command } from "./command.ts";
import { konnectivityAgentCommand } from "./konnectivity/konnectivity-agent.ts";
import { konnectivityServerCommand } from "./konnectivity/konnectivity-server.ts";

export const commands: readonly Command[] = [konnectivityAgentCommand, konnectivityServerCommand];
