/**
 * The kubelet's socket on which device plug-ins register: `device-plugins/kubelet.sock`. It is made
 * anew at every start, which is how plug-ins notice that they must register again.
 */
import { mkdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { listFolder } from "#host/files.ts";
import { runUnixServer, unaryMethod } from "#lib/grpc/unix-server.ts";
import { DEVICE_API_VERSION, type RegisterRequest, registerMethod } from "./device-messages.ts";

const SOCKET = "kubelet.sock";
const MESSAGE_BYTES_MAX = 64 * 1024;

export interface RegistrationHandler {
  /** Every request, whether it is valid or not. */
  onRequest(request: RegisterRequest): void;
  /** Rejects to refuse a plug-in. */
  register(request: RegisterRequest): Promise<void>;
}

/** Ends with the signal. */
export async function runRegistrationServer(
  folder: string,
  handler: RegistrationHandler,
  signal: AbortSignal,
): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o750 });
  for (const name of await listFolder(folder)) {
    const path = join(folder, name);
    if ((await stat(path).catch(() => undefined))?.isSocket()) await rm(path, { force: true });
  }
  const method = unaryMethod(registerMethod, async (request) => {
    handler.onRequest(request);
    await answer(request, handler);
    return {};
  });
  await runUnixServer(
    { socket: join(folder, SOCKET), methods: [method], requestBytesMax: MESSAGE_BYTES_MAX },
    signal,
  );
}

async function answer(request: RegisterRequest, handler: RegistrationHandler): Promise<void> {
  const { version, resourceName, endpoint } = request;
  if (version !== DEVICE_API_VERSION) {
    throw new Error(
      `requested API version "${version}" is not supported by kubelet. Supported version is ["${DEVICE_API_VERSION}"]`,
    );
  }
  if (!isExtendedResource(resourceName)) {
    throw new Error(`the ResourceName "${resourceName}" is invalid`);
  }
  if (endpoint === "" || /[/\0]/.test(endpoint)) {
    throw new Error(`the endpoint "${endpoint}" is not the name of a socket in the plug-in folder`);
  }
  await handler.register(request);
}

function isExtendedResource(name: string): boolean {
  const [domain = "", rest, ...more] = name.split("/");
  if (rest === undefined || more.length > 0 || name.startsWith("requests.")) return false;
  const isOurs = domain === "kubernetes.io" || domain.endsWith(".kubernetes.io");
  return !isOurs && /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(domain) && NAME.test(rest);
}

const NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
