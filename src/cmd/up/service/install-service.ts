/** `k8ts up --install-service`: writes the unit and says how to start it. It starts nothing itself. */
import { join, resolve } from "node:path";
import { messageOf } from "#lib/caught.ts";
import { writePublicFile } from "#pki/private-file.ts";
import { defaultDataDir } from "../default-data-dir.ts";
import { systemdUnit, unitName } from "./systemd-unit.ts";

const FOLDER = "/etc/systemd/system";

/** Returns the exit code of the command. */
export function installService(dataDir: string): number {
  const isDefault = dataDir === resolve(defaultDataDir());
  const name = unitName({ dataDir, isDefault });
  const program = resolve(process.argv[1] ?? "k8ts");
  const file = join(FOLDER, `${name}.service`);
  try {
    writePublicFile(
      file,
      systemdUnit({
        node: process.execPath,
        nodeFlags: process.execArgv,
        program,
        dataDir,
        isDefault,
      }),
    );
  } catch (error) {
    process.stderr.write(`Error: the service cannot be written: ${messageOf(error)}\n`);
    return 1;
  }
  process.stdout.write(
    `wrote ${file}\n  systemctl daemon-reload\n  systemctl enable --now ${name}\n`,
  );
  return 0;
}
