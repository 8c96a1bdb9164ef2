/** The systemd unit of a cluster, written by `k8ts up --install-service`. Its flags are in config.yaml. */
import { basename } from "node:path";

export interface UnitOptions {
  readonly node: string;
  /** Flags of Node itself. */
  readonly nodeFlags: readonly string[];
  readonly program: string;
  readonly dataDir: string;
  readonly isDefault: boolean;
}

export function unitName({
  dataDir,
  isDefault,
}: Pick<UnitOptions, "dataDir" | "isDefault">): string {
  return isDefault ? "k8ts" : `k8ts-${basename(dataDir).replaceAll(/[^\w.-]+/g, "-")}`;
}

export function systemdUnit({ node, nodeFlags, program, dataDir }: UnitOptions): string {
  const command = [node, ...nodeFlags, program, "up", "--foreground", `--data=${dataDir}`]
    .map(word)
    .join(" ");
  return `[Unit]
Description=Kubernetes cluster of k8ts on ${dataDir.replaceAll("%", "%%")}
After=network-online.target
Wants=network-online.target

[Service]
ExecStart=${command}
Restart=on-failure
RestartSec=2
# SIGTERM goes to k8ts only: it stops its pods and their runtime in order.
KillMode=mixed
TimeoutStopSec=30
Delegate=yes
LimitNOFILE=1048576
TasksMax=infinity

[Install]
WantedBy=multi-user.target
`;
}

/** A word as systemd reads it back: quotes, specifiers and variables are escaped. */
function word(text: string): string {
  const escaped = text
    .replaceAll("\\", "\\\\")
    .replaceAll('"', '\\"')
    .replaceAll("%", "%%")
    .replaceAll("$", "$$$$");
  return `"${escaped}"`;
}
