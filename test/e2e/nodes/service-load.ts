/** Requests without a pause from the machine to a Service, each over a connection of its own. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Machine } from "../node/machine.ts";

export interface LoadResult {
  readonly answered: number;
  /** Why each other request failed. */
  readonly failed: readonly string[];
}

/** Runs inside the machine until the file exists. Arguments: the file, then `address:port` of each target. */
const SCRIPT = `
const http = require("http"), fs = require("fs");
const [stop, ...targets] = process.argv.slice(1);
let answered = 0; const failed = [];
const ask = (target) => new Promise((resolve) => {
  const fail = (why) => { failed.push(target + ": " + why); resolve(); };
  http.get("http://" + target + "/cgi-bin/who", { agent: false, timeout: 60000 }, (reply) => {
    reply.on("end", () => { if (reply.statusCode === 200) answered++; else failed.push(String(reply.statusCode)); resolve(); })
      .on("error", (error) => fail(error.message)).resume();
  }).on("timeout", function () { this.destroy(new Error("no answer")); }).on("error", (error) => fail(error.message));
});
const loop = async (from) => {
  for (let i = from; !fs.existsSync(stop); i++) await ask(targets[i % targets.length]);
};
console.log("begun");
Promise.all([0, 1, 2, 3].map(loop)).then(() => console.log(JSON.stringify({ answered, failed })));
`;

/** Resolves when requests are under way; the answer ends them. */
export async function startLoad(
  machine: Machine,
  name: string,
  targets: readonly string[],
): Promise<() => Promise<LoadResult>> {
  const stop = join(machine.dir, `${name}.stop`);
  if (existsSync(stop)) throw new Error(`two loads are called ${name}`);
  const child = machine.start(process.execPath, ["-e", SCRIPT, stop, ...targets]);
  let output = "";
  child.stdout?.on("data", (chunk) => {
    output += chunk;
  });
  const ended = new Promise((resolve) => child.once("close", resolve));
  await new Promise((resolve) => child.stdout?.once("data", resolve));
  return async () => {
    writeFileSync(stop, "");
    await ended;
    const [, result = ""] = output.split("\n");
    return JSON.parse(result) as LoadResult;
  };
}
