/** The API server in a test machine, for proxies beside it. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { PROGRAM } from "../../test/built-program.ts";
import type { Machine } from "../../test/e2e/node/machine.ts";

/** Returns its data directory once it is ready. The token `bench` is an administrator's. */
export async function startControlPlane(machine: Machine, serviceRanges: string): Promise<string> {
  const data = join(machine.dir, "up");
  const tokens = join(machine.dir, "tokens.csv");
  writeFileSync(tokens, 'bench,admin,1,"system:masters"\n');
  const up = machine.start(process.execPath, [
    ...[PROGRAM, "up", "--foreground", "--no-node", "--data", data, "--token-auth-file", tokens],
    ...["--service-cluster-ip-range", serviceRanges],
  ]);
  await new Promise<void>((resolve, reject) => {
    let said = "";
    up.once("exit", () => reject(new Error(said)));
    for (const stream of [up.stdout, up.stderr]) {
      stream?.on("data", (chunk) => {
        said += chunk;
        if (said.includes("KUBECONFIG")) resolve();
      });
    }
  });
  return data;
}
