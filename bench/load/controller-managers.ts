/** Controller managers as processes of their own, ours and upstream's, with the same limits of requests. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { KUBE_APISERVER } from "./kube-apiserver.ts";
import { LAUNCHER } from "./server-processes.ts";

/** Beside upstream's kube-apiserver; empty if it is not there. */
const KUBE_CONTROLLER_MANAGER = beside(KUBE_APISERVER, "kube-controller-manager");

export const hasUpstreamManager = KUBE_CONTROLLER_MANAGER !== "";

export interface ManagerOptions {
  readonly program: "ours" | "upstream";
  /** Of the API server that it works for. */
  readonly port: number;
  /** The data directory with `pki` and `admin.kubeconfig`. */
  readonly keysOf: string;
}

export interface ManagerProcess extends AsyncDisposable {
  readonly pid: number;
}

export function startManager({ program, port, keysOf }: ManagerOptions): ManagerProcess {
  const flags = [
    `--kubeconfig=${join(keysOf, "admin.kubeconfig")}`,
    `--master=https://127.0.0.1:${port}`,
    `--root-ca-file=${join(keysOf, "pki", "ca.crt")}`,
    `--service-account-private-key-file=${join(keysOf, "pki", "sa.key")}`,
    ...["--leader-elect=false", "--kube-api-qps=10000", "--kube-api-burst=10000"],
    "--secure-port=0",
  ];
  const [command, first] =
    program === "ours" ? [LAUNCHER, ["controller-manager"]] : [KUBE_CONTROLLER_MANAGER, []];
  const child = spawn(command, [...first, ...flags], { stdio: "ignore" });
  return { pid: child.pid!, [Symbol.asyncDispose]: () => ended(child) };
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const exit = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  child.kill("SIGKILL");
  await exit;
}

function beside(program: string, name: string): string {
  const path = join(dirname(program), name);
  return program !== "" && existsSync(path) ? path : "";
}
