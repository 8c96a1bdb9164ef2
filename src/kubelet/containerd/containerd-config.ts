/** The configuration of a containerd that belongs to one kubelet: own socket, root and state. */

export interface ContainerdPaths {
  /** Images and snapshots; survives a restart. */
  readonly root: string;
  /** Sockets and the state of running containers. */
  readonly state: string;
  readonly cniBin: string;
  readonly cniConf: string;
}

export interface ContainerdSettings extends ContainerdPaths {
  readonly sandboxImage: string;
  readonly systemdCgroup: boolean;
  /** Without CAP_SYS_RESOURCE a lower oom_score_adj cannot be set. */
  readonly restrictOomScoreAdj: boolean;
  /** RuntimeClass handlers beside `runc`: their name and program. */
  readonly handlers: Readonly<Record<string, string>>;
}

export function socketOf({ state }: Pick<ContainerdPaths, "state">): string {
  return `${state}/containerd.sock`;
}

/** TOML, version 2 of the format: read by containerd 1.x and, with a warning, by 2.x. */
export function containerdConfig(settings: ContainerdSettings): string {
  const { root, state, cniBin, cniConf, sandboxImage, handlers } = settings;
  const cri = `plugins."io.containerd.grpc.v1.cri"`;
  const runtimes = Object.entries(handlers).map(([name, binary]) =>
    [
      `[${cri}.containerd.runtimes.${quote(name)}]`,
      `runtime_type = "io.containerd.runc.v2"`,
      `[${cri}.containerd.runtimes.${quote(name)}.options]`,
      `BinaryName = ${quote(binary)}`,
      `SystemdCgroup = ${settings.systemdCgroup}`,
    ].join("\n"),
  );
  return `version = 2
root = ${quote(root)}
state = ${quote(state)}
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]
[grpc]
address = ${quote(socketOf(settings))}
[ttrpc]
address = ${quote(`${socketOf(settings)}.ttrpc`)}
[${cri}]
sandbox_image = ${quote(sandboxImage)}
restrict_oom_score_adj = ${settings.restrictOomScoreAdj}
disable_tcp_service = true
enable_selinux = false
[${cri}.cni]
bin_dir = ${quote(cniBin)}
conf_dir = ${quote(cniConf)}
[${cri}.containerd]
default_runtime_name = "runc"
snapshotter = "overlayfs"
${runtimes.join("\n")}
`;
}

/** A TOML basic string. */
function quote(text: string): string {
  return JSON.stringify(text);
}
