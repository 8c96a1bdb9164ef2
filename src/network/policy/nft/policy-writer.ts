/**
 * Puts policies into the kernel with `nft -f -`.
 *
 * 1. `write` is one transaction: packets see the old policies or the new ones, never a part.
 * 2. After a failed `write` the next one writes everything again.
 * 3. Without isolated pods there is no table, so that packets pay nothing.
 */
import { mustRun, runProgram } from "#host/run-program.ts";
import type { PolicyRuleSet } from "../rules/policy-rules.ts";
import { changeTable, EMPTY_TABLE, type NftTable } from "./nft-table.ts";
import { renderPolicies, TABLE } from "./render-policies.ts";

/** The hook comes last: a table that is being built filters nothing. */
const HOOK = [
  `add chain ${TABLE} forward { type filter hook forward priority filter; policy accept; }`,
  `add rule ${TABLE} forward jump filter`,
];

export class PolicyWriter {
  /** Undefined before the first write and after a failure; "none" if the table is not there. */
  #written: NftTable | "none" | undefined;

  async write(rules: PolicyRuleSet): Promise<void> {
    const last = this.#written;
    if (rules.isolated.size === 0) {
      if (last !== "none") await this.remove();
      return;
    }
    const next = renderPolicies(rules);
    this.#written = undefined;
    const isWhole = last === undefined || last === "none";
    const { commands, removals } = changeTable(TABLE, isWhole ? EMPTY_TABLE : last, next);
    await nft(isWhole ? [...CLEAR, `add table ${TABLE}`, ...commands, ...HOOK] : commands);
    await nft(removals);
    this.#written = next;
  }

  /** Whether the rules that were written last are still there. */
  async isIntact(): Promise<boolean> {
    if (this.#written === undefined) return false;
    if (this.#written === "none") return true;
    const args = ["list", "chain", ...TABLE.split(" "), "forward"];
    const { exitCode, stdout } = await runProgram("nft", args, { outputBytesMax: 65_536 });
    return exitCode === 0 && stdout.includes("jump filter");
  }

  /** What was written is no longer there: the next write writes everything. */
  forget(): void {
    this.#written = undefined;
  }

  async remove(): Promise<void> {
    this.forget();
    await nft(CLEAR);
    this.#written = "none";
  }
}

const CLEAR = [`add table ${TABLE}`, `delete table ${TABLE}`];

async function nft(commands: readonly string[]): Promise<void> {
  if (commands.length > 0) await mustRun("nft", ["-f", "-"], { input: `${commands.join("\n")}\n` });
}
