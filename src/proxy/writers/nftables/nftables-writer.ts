/** Writes rules with `nft -f -`. Holds what it wrote, to write differences only. */

import type { IpFamily } from "#api/meta/ip-family.ts";
import { mustRun, runProgram } from "#host/run-program.ts";
import type { RuleWorld, RuleWriter } from "../writer.ts";
import { NftState } from "./nft-state.ts";
import { ipWord, renderBase, TABLE, tableName } from "./render-base.ts";

export class NftablesWriter implements RuleWriter {
  readonly #family: IpFamily;
  /** Undefined until the first sync and after a failure. */
  #state: NftState | undefined;

  constructor(family: IpFamily) {
    this.#family = family;
  }

  async sync({ base, services }: RuleWorld, changed: ReadonlySet<string> | "all"): Promise<void> {
    const last = this.#state;
    const isWhole =
      last === undefined || changed === "all" || JSON.stringify(last.base) !== JSON.stringify(base);
    const state = isWhole ? new NftState(base, tableName(base)) : last;
    if (!isWhole) await this.#deleteStaleChains(state);
    const changes = isWhole
      ? services
      : new Map([...changed].map((key) => [key, services.get(key) ?? []]));
    this.#state = undefined;
    const commands = [...(isWhole ? [renderBase(base)] : []), ...state.replace(changes)];
    if (commands.length > 0) await nft(commands);
    this.#state = state;
  }

  async isIntact(): Promise<boolean> {
    const args = ["list", "chain", ipWord(this.#family), TABLE, "services"];
    const { exitCode, stdout } = await runProgram("nft", args, { outputBytesMax: 65_536 });
    return exitCode === 0 && stdout.includes("@service-ips");
  }

  async cleanup(): Promise<void> {
    this.#state = undefined;
    const table = `${ipWord(this.#family)} ${TABLE}`;
    await nft([`add table ${table}`, `delete table ${table}`]);
  }

  /** A transaction of its own: if the kernel still thinks a chain is used, the next whole sync removes it. */
  async #deleteStaleChains(state: NftState): Promise<void> {
    const commands = state.takeStaleChains();
    if (commands.length > 0) await runProgram("nft", ["-f", "-"], { input: commands.join("\n") });
  }
}

async function nft(commands: readonly string[]): Promise<void> {
  await mustRun("nft", ["-f", "-"], { input: `${commands.join("\n")}\n` });
}
