/** Upstream's kube-apiserver in a process of its own, on the keys of one of our servers. */
import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "#testing/free-ports.ts";
import { running, type ServerProcess, untilReady } from "./server-processes.ts";

/** The program that takes part in benchmarks; empty if none does. */
export const KUBE_APISERVER = process.env.K8TS_KUBE_APISERVER ?? "";

export interface KubeApiServerOptions {
  readonly etcdServers: readonly string[];
  /** The data directory of our server: kube-apiserver takes its `pki` and `admin.kubeconfig`. */
  readonly keysOf: string;
  /** For what the program itself writes. */
  readonly directory: string;
  readonly flags?: readonly string[];
  /**
   * The ServiceAccount plug-in is on: pods get a token volume as on our server. Whoever creates pods has
   * to create the account first, because the server alone has no controller that does.
   */
  readonly hasAccounts?: boolean;
}

export async function startKubeApiServer(options: KubeApiServerOptions): Promise<ServerProcess> {
  const { etcdServers, keysOf, directory, flags = [], hasAccounts = false } = options;
  const pki = (name: string): string => join(keysOf, "pki", name);
  const port = await freePort();
  mkdirSync(directory, { recursive: true });
  const startMs = performance.now();
  const child = spawn(
    KUBE_APISERVER,
    [
      `--etcd-servers=${etcdServers.join(",")}`,
      ...["--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", `--secure-port=${port}`],
      ...[`--cert-dir=${directory}`, `--client-ca-file=${pki("ca.crt")}`],
      ...[
        `--tls-cert-file=${pki("apiserver.crt")}`,
        `--tls-private-key-file=${pki("apiserver.key")}`,
      ],
      `--service-account-key-file=${pki("sa.pub")}`,
      `--service-account-signing-key-file=${pki("sa.key")}`,
      "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
      `--requestheader-client-ca-file=${pki("front-proxy-ca.crt")}`,
      ...["--requestheader-username-headers=X-Remote-User", "--requestheader-allowed-names="],
      ...["--requestheader-group-headers=X-Remote-Group", "--authorization-mode=Node,RBAC"],
      "--requestheader-extra-headers-prefix=X-Remote-Extra-",
      "--service-cluster-ip-range=10.96.0.0/12",
      ...(hasAccounts ? [] : ["--disable-admission-plugins=ServiceAccount"]),
      ...flags,
    ],
    { stdio: "ignore" },
  );
  const identity = await untilReady(child, port, join(keysOf, "admin.kubeconfig"));
  const printedMs = Promise.resolve(Number.NaN);
  return { ...running(child, port), identity, printedMs, readyMs: performance.now() - startMs };
}
