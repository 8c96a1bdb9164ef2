/** What `k8ts up` prints while a cluster starts in the background. */
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { shellQuoted } from "../shell-quoted.ts";
import type { ReadyProgress } from "./progress.ts";

const NAME_WIDTH = 26; // cloud-controller-manager fits

export function componentLine({
  name,
  tookMs,
}: {
  readonly name: string;
  readonly tookMs: number;
}): string {
  return `  ${name.padEnd(NAME_WIDTH)}${String(Math.round(tookMs)).padStart(6)} ms\n`;
}

export interface Terminal {
  readonly tookMs: number;
  /** Where programs are looked for. */
  readonly path: string;
}

/** The last lines of a start: where the cluster is, and three commands to go on with. */
export function nextSteps(
  { url, kubeconfig, context, node, dashboard }: ReadyProgress,
  { tookMs, path }: Terminal,
): string {
  const lines = [`ready in ${tookMs} ms: ${url}`];
  if (context === undefined) lines.push(`  export KUBECONFIG=${shellQuoted(kubeconfig)}`);
  else lines.push(`  kubectl config use-context ${shellQuoted(context)}`);
  lines.push(node ? "  kubectl get nodes" : "  kubectl get namespaces", "  k8ts status");
  if (dashboard !== undefined)
    lines.push(`  dashboard: ${dashboard} (login: kubectl create token SERVICEACCOUNT)`);
  if (!isOnPath("kubectl", path)) {
    lines.push(
      "kubectl is not on the PATH: on Debian `apt-get install kubernetes-client` brings it, https://kubernetes.io/docs/tasks/tools/ has others",
    );
  }
  return `${lines.join("\n")}\n`;
}

function isOnPath(program: string, path: string): boolean {
  return path.split(delimiter).some((folder) => folder !== "" && existsSync(join(folder, program)));
}
