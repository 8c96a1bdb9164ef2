/**
 * An image made of k8ts itself: this program, the Node.js that runs it, etcd, and the libraries that both
 * are linked to. Nothing is downloaded.
 */
import {
  copyFile,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  writeFile,
} from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { pathExists, removeTree } from "#host/files.ts";
import { mustRun, runProgram } from "#host/run-program.ts";
import { ociArchitecture, writeImageArchive } from "#kubelet/images/image-archive.ts";
import { ETCD_IN_IMAGE, NODE_IN_IMAGE, PROGRAM_IN_IMAGE } from "./control-plane-pods.ts";

export interface OwnImage {
  readonly name: string;
  /** The built program: `dist/k8ts.js`. */
  readonly program: string;
  readonly withEtcd: boolean;
}

/** Parts of the build that no component of a control plane reads. */
const LEFT_OUT = /^(\.compiled|web|testing\.js)$|\.map$|\.d\.ts$/;

/** Packages that the build does not hold, because they are compiled for the machine. */
const NATIVE_PACKAGES = ["lmdb"];

/** Writes the archive (OCI layout) to `file`. */
export async function writeOwnImage(
  { name, program, withEtcd }: OwnImage,
  file: string,
  workFolder: string,
  signal: AbortSignal,
): Promise<void> {
  await mkdir(workFolder, { recursive: true });
  const folder = await mkdtemp(join(workFolder, "k8ts-image-"));
  try {
    for (const path of ["tmp", "etc", "usr/bin", dirname(PROGRAM_IN_IMAGE)]) {
      await mkdir(join(folder, path), { recursive: true });
    }
    await writeFile(join(folder, "etc/passwd"), "root:x:0:0:root:/:/sbin/nologin\n");
    await writeFile(join(folder, "etc/group"), "root:x:0:\n");
    const [build, inImage] = [dirname(await realpath(program)), dirname(PROGRAM_IN_IMAGE)];
    await copyBuild(build, join(folder, inImage));
    await copyPackages(NATIVE_PACKAGES, build, join(folder, inImage, "node_modules"));
    await addProgram(process.execPath, NODE_IN_IMAGE, folder, signal);
    if (withEtcd) await addProgram(await onPath("etcd", signal), ETCD_IN_IMAGE, folder, signal);
    const source = {
      ...{ name, folder, architecture: ociArchitecture(process.arch) },
      config: {
        Entrypoint: [NODE_IN_IMAGE, PROGRAM_IN_IMAGE],
        ...{ Env: ["PATH=/usr/bin", "HOME=/tmp"], WorkingDir: "/" },
      },
    };
    await writeImageArchive(source, file, workFolder, signal);
  } finally {
    await removeTree(folder);
  }
}

async function copyBuild(from: string, to: string): Promise<void> {
  for (const entry of await readdir(from, { withFileTypes: true })) {
    if (!entry.isFile() || LEFT_OUT.test(entry.name)) continue;
    await copyFile(join(from, entry.name), join(to, entry.name));
  }
  // Modules of this kind, as the package says.
  await writeFile(join(to, "package.json"), '{ "type": "module" }\n');
}

/** These packages and all that they need, as far as they are installed. */
async function copyPackages(
  names: readonly string[],
  build: string,
  target: string,
): Promise<void> {
  const found = new Set(names);
  // A set that grows while it is walked hands out the new members, too.
  for (const name of found) {
    const source = await packageFolder(name, build);
    if (source === undefined) continue; // for another system
    await cp(source, join(target, name), { recursive: true, filter: isNeeded });
    const { dependencies = {}, optionalDependencies = {} } = JSON.parse(
      await readFile(join(source, "package.json"), "utf8"),
    ) as Readonly<Record<string, Readonly<Record<string, string>> | undefined>>;
    for (const more of Object.keys({ ...dependencies, ...optionalDependencies })) found.add(more);
  }
}

/** As Node looks for it. */
async function packageFolder(name: string, from: string): Promise<string | undefined> {
  for (let folder = from; ; folder = dirname(folder)) {
    const path = join(folder, "node_modules", name);
    if (await pathExists(join(path, "package.json"))) return await realpath(path);
    if (folder === dirname(folder)) return undefined;
  }
}

/** Sources in C and maps are for compiling and for people. */
function isNeeded(path: string): boolean {
  return !/\.(map|c|cc|cpp|h|md|gyp)$|lmdb\/dependencies$/.test(path);
}

/** The program and the libraries that it is linked to, those at their own paths. */
async function addProgram(
  program: string,
  inImage: string,
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  await copyFile(await realpath(program), join(folder, inImage));
  const { stdout } = await runProgram("ldd", [program], { signal }); // fails for a static program
  for (const [path] of stdout.matchAll(/\/\S+\.so\S*/g)) {
    const target = join(folder, path);
    if (await pathExists(target)) continue;
    await mkdir(dirname(target), { recursive: true });
    await copyFile(path, target);
  }
}

async function onPath(program: string, signal: AbortSignal): Promise<string> {
  const found = await mustRun("sh", ["-c", `command -v ${basename(program)}`], { signal });
  return found.trim();
}
