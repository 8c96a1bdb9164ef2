import { homedir } from "node:os";
import { join } from "node:path";

/** Where `k8ts up` keeps everything unless --data says otherwise. */
export function defaultDataDir(): string {
  return join(homedir(), ".k8ts");
}
