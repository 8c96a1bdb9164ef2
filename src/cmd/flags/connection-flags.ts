/** How a component that runs alone reaches the API server, and where it serves itself. */
import {
  type Connection,
  connectionFromFile,
  connectionInCluster,
  KubeconfigError,
} from "#client/kubeconfig.ts";
import { FlagError } from "./parse-flags.ts";

export function portOf(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new FlagError(`--secure-port: ${text} is no port`);
}

/** From --kubeconfig, or from the service account of the pod it runs in; --master overrides the URL. */
export function connectionOf(kubeconfig: string, master: string): Connection {
  try {
    const found =
      kubeconfig === "" ? connectionInCluster(process.env) : connectionFromFile(kubeconfig);
    return master === "" ? found : { ...found, server: master.replace(/\/+$/, "") };
  } catch (error) {
    if (error instanceof KubeconfigError) throw new FlagError(error.message);
    throw error;
  }
}
