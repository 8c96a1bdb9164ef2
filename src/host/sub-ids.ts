/** Subordinate user and group ids of a user of the machine (subuid(5), subgid(5)). */
import { readTextIfPresent } from "./files.ts";
import { ProgramError, runProgram } from "./run-program.ts";

export interface SubIdLines {
  /** As `getsubids USER` prints them. */
  readonly uids: string;
  /** As `getsubids -g USER` prints them. */
  readonly gids: string;
}

/**
 * Undefined if the machine has no such user or no `getsubids`. Throws if there are both but no ids:
 * `getsubids` may have to ask another machine, and that may be down.
 */
export async function readSubIds(user: string): Promise<SubIdLines | undefined> {
  const users = (await readTextIfPresent("/etc/passwd")) ?? "";
  if (!users.split("\n").some((line) => line.startsWith(`${user}:`))) return undefined;
  try {
    const [uids, gids] = await Promise.all([
      runProgram("getsubids", [user]),
      runProgram("getsubids", ["-g", user]),
    ]);
    if (uids.exitCode !== 0) {
      throw new Error(
        `error retrieving additional uids for user "${user}": exit status ${uids.exitCode}`,
      );
    }
    if (gids.exitCode !== 0) throw new Error(`error retrieving additional gids for user "${user}"`);
    return { uids: uids.stdout, gids: gids.stdout };
  } catch (error) {
    if (error instanceof ProgramError && /ENOENT/.test(error.message)) return undefined;
    throw error;
  }
}
