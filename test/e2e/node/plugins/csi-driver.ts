/**
 * A CSI driver for tests, a program of its own: volumes are folders below DATA that are bind-mounted,
 * inline volumes live in memory. Arguments: the kubelet's folder and DATA. Every call is a line of
 * JSON in DATA/calls.
 */
import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { csiNodeMethods, NODE_CAPABILITY } from "#kubelet/csi/csi-messages.ts";
import { registrationMethods } from "#kubelet/plugins/registration-messages.ts";
import { CSI_DRIVER } from "./plugin-names.ts";
import { type Served, serveGrpc } from "./serve-grpc.ts";

const [, , kubelet = "", data = ""] = process.argv;
const endpoint = join(kubelet, "plugins", CSI_DRIVER, "csi.sock");

interface Request {
  readonly volumeId: string;
  readonly stagingTargetPath: string;
  readonly targetPath: string;
  readonly readonly: boolean;
  readonly volumeCapability?: { readonly block?: object };
  readonly volumeContext: Readonly<Record<string, string>>;
}

function bind(source: string, target: string, isReadOnly = false): void {
  mkdirSync(target, { recursive: true });
  if (isMounted(target)) return;
  execFileSync("mount", ["--bind", source, target]);
  if (isReadOnly) execFileSync("mount", ["-o", "remount,ro,bind", target]);
}

function isMounted(path: string): boolean {
  try {
    execFileSync("mountpoint", ["-q", path]);
    return true;
  } catch {
    return false;
  }
}

function unmount(path: string): void {
  if (isMounted(path)) execFileSync("umount", [path]);
  rmSync(path, { recursive: true, force: true });
}

const NODE: Record<keyof typeof csiNodeMethods, (request: Request) => object> = {
  info: () => ({
    nodeId: "machine-1",
    maxVolumesPerNode: 7,
    accessibleTopology: { segments: { "topology.k8ts.example/rack": "r1" } },
  }),
  capabilities: () => ({
    capabilities: [
      { rpc: { type: NODE_CAPABILITY.STAGE_UNSTAGE_VOLUME } },
      { rpc: { type: NODE_CAPABILITY.EXPAND_VOLUME } },
      { rpc: { type: NODE_CAPABILITY.GET_VOLUME_STATS } },
    ],
  }),
  stage: ({ volumeId, stagingTargetPath, volumeCapability }) => {
    const source = join(data, "volumes", volumeId);
    mkdirSync(source, { recursive: true });
    if (volumeCapability?.block === undefined) bind(source, stagingTargetPath);
    return {};
  },
  unstage: ({ stagingTargetPath }) => {
    unmount(stagingTargetPath);
    return {};
  },
  publish: ({ targetPath, stagingTargetPath, volumeCapability, readonly }) => {
    if (volumeCapability?.block !== undefined) {
      rmSync(targetPath, { force: true });
      execFileSync("mknod", [targetPath, "b", "7", "99"]);
    } else if (stagingTargetPath !== "") bind(stagingTargetPath, targetPath, readonly);
    else {
      mkdirSync(targetPath, { recursive: true });
      if (!isMounted(targetPath)) execFileSync("mount", ["-t", "tmpfs", "tmpfs", targetPath]);
    }
    return {};
  },
  unpublish: ({ targetPath }) => {
    unmount(targetPath);
    return {};
  },
  expand: () => ({ capacityBytes: 0 }),
  volumeStats: () => ({
    usage: [
      { unit: 1, total: 1000, used: 400, available: 600 },
      { unit: 2, total: 50, used: 20, available: 30 },
    ],
    volumeCondition: { abnormal: true, message: "a test" },
  }),
};

const served = Object.entries(csiNodeMethods).map(([name, method]): [string, Served] => [
  name,
  {
    method,
    handle: (request: Request) => {
      appendFileSync(join(data, "calls"), `${JSON.stringify({ name, ...request })}\n`);
      return NODE[name as keyof typeof NODE](request);
    },
  },
]);

mkdirSync(join(endpoint, ".."), { recursive: true });
mkdirSync(data, { recursive: true });
await serveGrpc(endpoint, Object.fromEntries(served));
await serveGrpc(join(kubelet, "plugins_registry", `${CSI_DRIVER}-reg.sock`), {
  getInfo: {
    method: registrationMethods.getInfo,
    handle: () => ({
      type: "CSIPlugin",
      name: CSI_DRIVER,
      endpoint,
      supportedVersions: ["1.0.0"],
    }),
  },
  notify: { method: registrationMethods.notifyRegistrationStatus, handle: () => ({}) },
});
console.log("serving");
