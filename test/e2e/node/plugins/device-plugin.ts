/**
 * A device plug-in for tests, a program of its own: three lamps, of which the last is preferred. An
 * allocated lamp is a variable, a mounted folder and the device /dev/lamp. Arguments: the kubelet's
 * folder and DATA; lamps whose id is the name of a file in DATA/broken are unhealthy.
 */
import { existsSync, mkdirSync, watch } from "node:fs";
import { join } from "node:path";
import {
  DEVICE_API_VERSION,
  deviceMethods,
  HEALTHY,
  registerMethod,
} from "#kubelet/devices/device-messages.ts";
import { GrpcClient } from "#lib/grpc/grpc-client.ts";
import { DEVICE_RESOURCE } from "./plugin-names.ts";
import { serveGrpc } from "./serve-grpc.ts";

const [, , kubelet = "", data = ""] = process.argv;
const folder = join(kubelet, "device-plugins");
const broken = join(data, "broken");
const LAMPS = ["lamp-1", "lamp-2", "lamp-3"];

mkdirSync(broken, { recursive: true });

function list(): object {
  return {
    devices: LAMPS.map((id) => ({
      id,
      health: existsSync(join(broken, id)) ? "Unhealthy" : HEALTHY,
    })),
  };
}

async function serve(): Promise<void> {
  const server = await serveGrpc(join(folder, "lamp.sock"), {
    options: {
      method: deviceMethods.getDevicePluginOptions,
      handle: () => ({ preStartRequired: true, getPreferredAllocationAvailable: true }),
    },
    list: {
      method: deviceMethods.listAndWatch,
      stream: (send, onGone) => {
        const watcher = watch(broken, () => send(list()));
        onGone(() => watcher.close());
        send(list());
      },
    },
    preferred: {
      method: deviceMethods.getPreferredAllocation,
      handle: ({ containerRequests: [request] }: { containerRequests: PreferredRequest[] }) => ({
        containerResponses: [
          { deviceIds: request!.availableDeviceIds.slice(-request!.allocationSize) },
        ],
      }),
    },
    allocate: {
      method: deviceMethods.allocate,
      handle: ({ containerRequests: [request] }: { containerRequests: Ids[] }) => ({
        containerResponses: [
          {
            envs: { LAMPS: request!.deviceIds.join() },
            mounts: [{ containerPath: "/lamps", hostPath: data, readOnly: true }],
            devices: [{ containerPath: "/dev/lamp", hostPath: "/dev/null", permissions: "rw" }],
            annotations: { "k8ts.example/lamp": "on" },
          },
        ],
      }),
    },
    preStart: {
      method: deviceMethods.preStartContainer,
      handle: ({ deviceIds }: Ids) => {
        for (const id of deviceIds) mkdirSync(join(data, `started-${id}`), { recursive: true });
        return {};
      },
    },
  });
  using client = new GrpcClient(join(folder, "kubelet.sock"));
  const request = {
    version: DEVICE_API_VERSION,
    endpoint: "lamp.sock",
    resourceName: DEVICE_RESOURCE,
  };
  await client.call(registerMethod, request, { waitForReady: true, timeoutMs: 60_000 });
  // A kubelet that starts removes the plug-ins' sockets: then the plug-in registers again.
  const watcher = watch(folder, () => {
    if (existsSync(join(folder, "lamp.sock"))) return;
    watcher.close();
    server.forceShutdown();
    void serve();
  });
}

interface PreferredRequest {
  readonly availableDeviceIds: readonly string[];
  readonly allocationSize: number;
}
interface Ids {
  readonly deviceIds: readonly string[];
}

await serve();
console.log("serving");
