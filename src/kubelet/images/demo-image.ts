/**
 * The demo image, made by k8ts itself from the busybox of this machine (Debian's busybox-static), so
 * that the first steps with a cluster need no registry. Without a command a container of it serves HTTP
 * on port 8080 and answers every request for `/` with its hostname; it has a shell.
 */
import { chmod, copyFile, mkdir, mkdtemp, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pathExists, removeTree } from "#host/files.ts";
import { mustRun } from "#host/run-program.ts";
import { ociArchitecture, writeImageArchive } from "./image-archive.ts";

export const DEMO_IMAGE = "k8ts.local/demo:1";

export const BUSYBOX_PACKAGE = "busybox-static";
const BUSYBOX_PATHS = ["/bin/busybox", "/usr/bin/busybox", "/usr/local/bin/busybox"];

/** What a static busybox loads to ask DNS servers. */
const RESOLVER_FILES: Partial<Record<NodeJS.Architecture, readonly string[]>> = {
  x64: ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"],
  arm64: ["/lib/aarch64-linux-gnu/libc.so.6", "/lib/ld-linux-aarch64.so.1"],
};

/** As process 1 it has to handle SIGTERM itself: the kernel ignores signals without a handler. */
const SERVER = `#!/bin/sh
echo "$(hostname) serves HTTP on port \${PORT:=8080}"
httpd -f -p "$PORT" -h /www &
trap 'kill $!; exit 0' TERM INT
wait $!
`;

const PAGE = `#!/bin/sh
echo "$REMOTE_ADDR $REQUEST_METHOD $REQUEST_URI" >&2
printf 'Content-Type: text/plain\\r\\n\\r\\nHello from %s\\n' "$(hostname)"
`;

export async function writeDemoImage(
  arch: NodeJS.Architecture,
  file: string,
  workFolder: string,
  signal?: AbortSignal,
): Promise<void> {
  const busybox = await busyboxPath();
  await mkdir(workFolder, { recursive: true });
  const folder = await mkdtemp(join(workFolder, "demo-"));
  try {
    await writeFiles(folder, busybox, arch, signal);
    const source = {
      name: DEMO_IMAGE,
      folder,
      config: { Cmd: ["/bin/demo"], Env: ["PATH=/bin"], WorkingDir: "/" },
      architecture: ociArchitecture(arch),
    };
    await writeImageArchive(source, file, workFolder, signal);
  } finally {
    await removeTree(folder);
  }
}

async function busyboxPath(): Promise<string> {
  for (const path of BUSYBOX_PATHS) if (await pathExists(path)) return path;
  throw new Error(
    `${DEMO_IMAGE} is made from busybox, which is not installed: apt-get install ${BUSYBOX_PACKAGE}`,
  );
}

async function writeFiles(
  folder: string,
  busybox: string,
  arch: NodeJS.Architecture,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (const name of ["bin", "data", "etc", "tmp", "www/cgi-bin"]) {
    await mkdir(join(folder, name), { recursive: true });
  }
  await chmod(join(folder, "tmp"), 0o1777);
  await copyFile(busybox, join(folder, "bin/busybox"));
  await chmod(join(folder, "bin/busybox"), 0o755);
  const applets = await mustRun(busybox, ["--list"], { signal });
  for (const applet of applets.split("\n")) {
    if (applet === "" || applet === "busybox") continue;
    await symlink("busybox", join(folder, "bin", applet));
  }
  for (const path of RESOLVER_FILES[arch] ?? []) {
    if (!(await pathExists(path))) continue;
    await mkdir(join(folder, dirname(path)), { recursive: true });
    await copyFile(path, join(folder, path));
  }
  await writeFile(join(folder, "etc/passwd"), "root:x:0:0:root:/:/bin/sh\n");
  await writeFile(join(folder, "etc/group"), "root:x:0:\n");
  await writeFile(join(folder, "bin/demo"), SERVER, { mode: 0o755 });
  // httpd runs it for a folder that has no index.html.
  await writeFile(join(folder, "www/cgi-bin/index.cgi"), PAGE, { mode: 0o755 });
}
