/** The address of an API server as people type it. */
import { FlagError } from "./parse-flags.ts";

/** `https://HOST:PORT`. `host:port` is taken, too, as kubeadm does. */
export function serverUrlOf(address: string): string {
  const text = address.includes("://") ? address : `https://${address}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "https:") throw new FlagError(`${address} is not https://HOST:PORT`);
  return url.origin;
}
