/**
 * Writes the declarations of `k8ts/controller`, `k8ts/testing` and `k8ts/types/…` to dist/types, for users of the package: the
 * compiler's own, with names of files that mean something outside this project. Part of packing.
 */
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../", import.meta.url));

/** `#lib/time/clock.ts` and `./clock.ts` as a file beside or above `file` finds them. */
export function withPlainImports(file: string, text: string): string {
  const isOurs = /(?<=(?:from |import |import\()")(#[^"]+|\.\.?\/[^"]+)\.ts(?=")/g;
  return text.replace(isOurs, (_, name: string) => {
    if (!name.startsWith("#")) return `${name}.js`;
    const path = relative(dirname(file), `${name.slice(1)}.js`);
    return path.startsWith(".") ? path : `./${path}`;
  });
}

export function emitTypes(): number {
  const folder = join(ROOT, "dist/types");
  rmSync(folder, { recursive: true, force: true });
  const compiler = join(ROOT, "node_modules/.bin/tsc");
  const args = ["-p", join(ROOT, "tsconfig.types.json"), "--outDir", folder];
  const { status } = spawnSync(compiler, args, { stdio: "inherit" });
  for (const file of status === 0 ? declarationsIn(folder) : []) {
    const path = join(folder, file);
    writeFileSync(path, withPlainImports(file, readFileSync(path, "utf8")));
  }
  return status ?? 1;
}

function declarationsIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".d.ts"),
  );
}
