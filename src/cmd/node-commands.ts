/**
 * The commands that run a node. They are a file of their own in the build: a kubelet would otherwise
 * hold the code of the API server, of controllers and of every other command in memory.
 */
import type { Command } from "./command.ts";
import { kubeletCommand } from "./kubelet/kubelet-command.ts";

export const commands: readonly Command[] = [kubeletCommand];
