/** `k8ts completion`: a script that completes commands and flags in a shell. */
import { Command as Parser } from "commander";
import type { Command } from "../command.ts";
import { FlagError, parseArguments, refuseFlags } from "../flags/parse-flags.ts";
import { COMPLETION_SCRIPTS, type CompletedCommand } from "./completion-scripts.ts";

const EXAMPLES = `
Examples:
  source <(k8ts completion bash)
  k8ts completion zsh > "\${fpath[1]}/_k8ts"
  k8ts completion fish > ~/.config/fish/completions/k8ts.fish`;

export function completionCommand(commands: () => readonly Command[]): Command {
  return {
    name: "completion",
    summary: "print a script that completes commands in bash, zsh or fish",
    run: async (args) => {
      const parser = new Parser("k8ts completion")
        .description("Prints a script that completes commands and flags.")
        .argument("<shell>", "bash, zsh or fish")
        .addHelpText("after", EXAMPLES);
      try {
        const shell = parseArguments(parser, args).args[0] ?? "";
        if (!Object.hasOwn(COMPLETION_SCRIPTS, shell)) {
          throw new FlagError(
            `there is no completion for ${JSON.stringify(shell)}: bash, zsh, fish`,
          );
        }
        const script = COMPLETION_SCRIPTS[shell as keyof typeof COMPLETION_SCRIPTS];
        process.stdout.write(script(commands().map(completed)));
        return 0;
      } catch (error) {
        return refuseFlags(error);
      }
    },
  };
}

function completed({ name, summary, flags }: Command): CompletedCommand {
  const names = (flags?.() ?? []).flatMap(({ long }) => long ?? []);
  return { name, summary, flags: [...new Set([...names, "--help"])].toSorted() };
}
