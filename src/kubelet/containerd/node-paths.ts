/** Where a node of `k8ts up` keeps its containerd, by the data directory and the node's name. */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { listFolder } from "#host/files.ts";

export interface NodePaths {
  /** Images and snapshots; survives a restart. */
  readonly containerdRoot: string;
  /** Sockets and the state of running containers. Short: the path of a socket has at most 107 bytes. */
  readonly containerdState: string;
  readonly kubeletRoot: string;
  readonly cniConf: string;
  /** CNI plug-ins of an add-on that brings the pod network. */
  readonly cniBin: string;
  /** For drafts of images. */
  readonly work: string;
  /** The cgroup below which all pods of the node live. */
  readonly cgroupRoot: string;
}

export function nodePaths(dataDir: string, node: string): NodePaths {
  const folder = join(dataDir, "nodes", node);
  const id = createHash("sha256").update(folder).digest("hex").slice(0, 12);
  return {
    containerdRoot: join(folder, "containerd"),
    containerdState: `/run/k8ts/${id}`,
    kubeletRoot: join(folder, "kubelet"),
    cniConf: join(folder, "cni"),
    cniBin: join(folder, "cni-bin"),
    work: join(folder, "work"),
    cgroupRoot: `/k8ts-${id}`,
  };
}

/** Names of the nodes that have run on this data directory. */
export function knownNodes(dataDir: string): Promise<readonly string[]> {
  return listFolder(join(dataDir, "nodes"));
}
