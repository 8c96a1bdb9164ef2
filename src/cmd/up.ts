/** `k8ts up`: the whole cluster in one process. */
import type { Command } from "./command.ts";

export const upCommand: Command = {
  name: "up",
  summary: "run a cluster",
  run: async () => {
    process.stderr.write("k8ts up: cannot run a cluster yet: the API server is missing\n");
    return 1;
  },
};
