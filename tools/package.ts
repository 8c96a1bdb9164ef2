/**
 * `npm run package`: builds, and packs what users install into `k8ts-VERSION.tgz`. The package has the
 * built program and its declarations, no sources, no tests, nothing that belongs to one Node, and needs
 * one other package; the newer Node that a checkout uses is not among its dependencies.
 */
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { emitTypes } from "./emit-types.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));

/** All others are in the bundles. */
const DEPENDENCIES = ["lmdb"];

/** Packs dist/ as it is into a file in `folder`, and answers its name. */
export function pack(folder: string): string {
  const staged = mkdtempSync(join(tmpdir(), "k8ts-package-"));
  try {
    const manifest = publishedManifest();
    for (const path of ["dist", "docs/controllers.md", "LICENSE", "README.md", "CHANGELOG.md"]) {
      cpSync(join(ROOT, path), join(staged, path), {
        recursive: true,
        filter: (file) => basename(file) !== ".compiled",
      });
    }
    writeFileSync(join(staged, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
    const packed = spawnSync("npm", ["pack", "--silent", "--pack-destination", folder], {
      cwd: staged,
      encoding: "utf8",
    });
    if (packed.status !== 0) throw new Error(`npm pack failed: ${packed.stderr}`);
    return join(folder, packed.stdout.trim());
  } finally {
    rmSync(staged, { recursive: true, force: true });
  }
}

function publishedManifest(): object {
  const { dependencies, ...manifest } = JSON.parse(
    readFileSync(join(ROOT, "package.json"), "utf8"),
  ) as { dependencies: Record<string, string> } & Record<string, unknown>;
  const kept = ["name", "version", "description", "license", "type", "engines", "bin", "files"];
  return {
    ...Object.fromEntries([...kept, "exports"].map((key) => [key, manifest[key]])),
    dependencies: Object.fromEntries(DEPENDENCIES.map((name) => [name, dependencies[name]])),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await import("./build.ts");
  if (emitTypes() !== 0) throw new Error("the declarations could not be made");
  process.stdout.write(`${pack(ROOT)}\n`);
}
