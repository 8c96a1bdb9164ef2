/** How the kernel chooses among the next hops of a route. */
import { readFile, writeFile } from "node:fs/promises";

const SETTINGS = ["ipv4", "ipv6"].map((ip) => `/proc/sys/net/${ip}/fib_multipath_hash_policy`);
const BY_ADDRESS = "0";
const BY_ADDRESS_AND_PORT = "1";

/**
 * Has each connection choose, not each client. Answers what sets it back. A setting other than the
 * kernel's default is left alone, and so is a kernel that cannot do it.
 */
export async function hashByPort(
  files: readonly string[] = SETTINGS,
): Promise<() => Promise<void>> {
  const changed: string[] = [];
  for (const file of files) {
    const current = await readFile(file, "utf8").catch(() => "");
    if (current.trim() !== BY_ADDRESS) continue;
    const isSet = await writeFile(file, BY_ADDRESS_AND_PORT).then(
      () => true,
      () => false,
    );
    if (isSet) changed.push(file);
  }
  return async () => {
    for (const file of changed.splice(0)) await writeFile(file, BY_ADDRESS).catch(() => undefined);
  };
}
