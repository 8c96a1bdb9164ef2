/** Writes rules with `nft -f -`. Holds what it wrote, to write differences only. */

import type { IpFamily } from "#api/meta/ip-family.ts";
import { mustRun, runProgram } from "#host/run-program.ts";
import type { ServicePortRules } from "../../rules/service-rules.ts";
import type { RuleWorld, RuleWriter } from "../writer.ts";
import { NftState } from "./nft-state.ts";
import { ipWord, renderBase, TABLE, tableName } from "./render-base.ts";

const SERVICES_PER_PART = 250;

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
    this.#state = undefined;
    if (isWhole) await nft(wholeTable(state, services));
    else {
      const commands = state.replace(new Map([...changed].map((key) => [key, services.get(key)])));
      if (commands.length > 0) await nft([inLines(commands)]);
    }
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
    await nft([inLines([`add table ${table}`, `delete table ${table}`])]);
  }

  /** A transaction of its own: if the kernel still thinks a chain is used, the next whole sync removes it. */
  async #deleteStaleChains(state: NftState): Promise<void> {
    const commands = state.takeStaleChains();
    if (commands.length > 0) await runProgram("nft", ["-f", "-"], { input: commands.join("\n") });
  }
}

/** The commands for the whole table, in parts, so that thousands of Services are never one text. */
function* wholeTable(state: NftState, services: RuleWorld["services"]): Iterable<string> {
  yield inLines([renderBase(state.base)]);
  let part = new Map<string, readonly ServicePortRules[]>();
  for (const key of services.keys()) {
    part.set(key, services.get(key));
    if (part.size < SERVICES_PER_PART) continue;
    yield inLines(state.replace(part));
    part = new Map();
  }
  yield inLines(state.replace(part));
}

function inLines(commands: readonly string[]): string {
  return commands.map((command) => `${command}\n`).join("");
}

/** All of the input is one transaction. */
async function nft(input: Iterable<string>): Promise<void> {
  await mustRun("nft", ["-f", "-"], { input });
}
