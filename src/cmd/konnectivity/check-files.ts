/** Whether the files that flags of tunnels name exist; in upstream's words. */
import { existsSync } from "node:fs";
import { FlagError } from "../flags/parse-flags.ts";

/** A certificate and its key need each other. `name`: of the pair, in messages. */
export function checkPair(name: string, cert: string, key: string): void {
  checkFile(`${name} key`, key);
  if (key !== "" && cert === "") {
    throw new FlagError(`cannot have ${name} cert empty when ${name} key is set to "${key}"`);
  }
  checkFile(`${name} cert`, cert);
  if (cert !== "" && key === "") {
    throw new FlagError(`cannot have ${name} key empty when ${name} cert is set to "${cert}"`);
  }
}

export function checkFile(name: string, file: string): void {
  if (file === "" || existsSync(file)) return;
  throw new FlagError(
    `error checking ${name} ${file}, got stat ${file}: no such file or directory`,
  );
}
