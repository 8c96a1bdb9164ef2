/**
 * Makes sure that programs from Debian's packages are there, for tests and commands that need the
 * real thing. Installs only as root and only if that is not forbidden (K8TS_NO_INSTALL=1), and says
 * so first. Under CI a missing package is an error, never a reason to skip.
 */
import { spawnSync } from "node:child_process";

const PROGRAMS: Readonly<Record<string, string>> = {
  "/usr/lib/cni/bridge": "containernetworking-plugins",
  "/lib/systemd/systemd-logind": "systemd",
  "/usr/sbin/sshd": "openssh-server",
  // nginx as a data plane; whatever has this file has the others.
  "/usr/share/lua/5.1/resty/core.lua": "nginx-light libnginx-mod-http-lua lua-resty-core lua-cjson",
  busybox: "busybox-static",
  chromium: "chromium",
  conntrack: "conntrack",
  containerd: "containerd",
  curl: "curl",
  "dbus-daemon": "dbus",
  dig: "bind9-dnsutils",
  etcd: "etcd-server",
  etcdctl: "etcd-client",
  faketime: "faketime",
  iptables: "iptables",
  kubectl: "kubernetes-client",
  nft: "nftables",
  nginx: "nginx-light",
  openssl: "openssl",
  runc: "runc",
  strace: "strace",
  tmux: "tmux",
  wrk: "wrk",
};

/** undefined when the program can be run; otherwise why it cannot. */
export function missingProgram(program: keyof typeof PROGRAMS): string | undefined {
  if (onPath(program)) return undefined;
  const name = PROGRAMS[program] ?? program;
  const refusal = installRefused();
  if (refusal === undefined) {
    process.stderr.write(`installing the Debian package ${name}\n`);
    const failed =
      apt(["update"]) ?? apt(["install", "-y", "--no-install-recommends", ...name.split(" ")]);
    if (failed === undefined && onPath(program)) return undefined;
    return unlessCi(`${program}: installing the Debian package ${name} failed: ${failed ?? ""}`);
  }
  return unlessCi(
    `${program} is not on the PATH and the package ${name} was not installed: ${refusal}`,
  );
}

function installRefused(): string | undefined {
  if (process.env.K8TS_NO_INSTALL === "1") return "K8TS_NO_INSTALL=1 forbids it";
  if (process.getuid?.() !== 0) return "not running as root";
  return onPath("apt-get") ? undefined : "this system has no apt-get";
}

function unlessCi(reason: string): string {
  if (process.env.CI === "true") throw new Error(reason);
  return reason;
}

function apt(args: readonly string[]): string | undefined {
  const { status, stderr } = spawnSync("apt-get", ["-qq", ...args], {
    encoding: "utf8",
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
  });
  return status === 0 ? undefined : stderr.trim().split("\n").at(-1);
}

function onPath(program: string): boolean {
  return spawnSync("sh", ["-c", `command -v ${program} || test -f ${program}`]).status === 0;
}
