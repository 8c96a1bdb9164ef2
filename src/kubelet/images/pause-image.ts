/** The image of the pause container, made by k8ts itself: see pause-program.ts. */
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { removeTree } from "#host/files.ts";
import { ociArchitecture, writeImageArchive } from "./image-archive.ts";
import { type Architecture, pauseProgram } from "./pause-program.ts";

/** Changes with the program, so that an old image is not taken for it. */
export const PAUSE_IMAGE = "k8ts.local/pause:1";

export async function writePauseImage(
  arch: NodeJS.Architecture,
  file: string,
  workFolder: string,
  signal?: AbortSignal,
): Promise<void> {
  await mkdir(workFolder, { recursive: true });
  const folder = await mkdtemp(join(workFolder, "pause-"));
  try {
    await writeFile(join(folder, "pause"), pauseProgram(supported(arch)), { mode: 0o755 });
    const source = {
      name: PAUSE_IMAGE,
      folder,
      config: { Entrypoint: ["/pause"], WorkingDir: "/", User: "65535:65535" },
      architecture: ociArchitecture(arch),
    };
    await writeImageArchive(source, file, workFolder, signal);
  } finally {
    await removeTree(folder);
  }
}

function supported(arch: NodeJS.Architecture): Architecture {
  if (arch === "x64" || arch === "arm64") return arch;
  throw new Error(`there is no pause program for ${arch}: give --pod-infra-container-image`);
}
