/** The controller manager in a file of its own when built: it needs no code of the API server or of a node. */
import type { Command } from "./command.ts";
import { controllerManagerCommand } from "./controller-manager/controller-manager.ts";

export const commands: readonly Command[] = [controllerManagerCommand];
