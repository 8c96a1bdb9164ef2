/**
 * The commands that run an API server. They are a file of their own in the build: other commands do not
 * load its code, and it does not load theirs.
 */
import { apiserverCommand } from "./apiserver/apiserver-command.ts";
import type { Command } from "./command.ts";
import { upCommand } from "./up/up.ts";

export const commands: readonly Command[] = [apiserverCommand, upCommand];
