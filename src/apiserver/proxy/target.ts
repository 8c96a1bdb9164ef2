/** Where a proxied request goes. */
import type { SecureContextOptions } from "node:tls";
import type { ConnectStream } from "./connect-stream.ts";

export interface Target {
  readonly secure: boolean;
  readonly host: string;
  readonly port: number;
  /** With the query, as it will be asked for. */
  readonly path: string;
  /** How to speak TLS with it; certificates are not checked unless an authority is given. */
  readonly tls?: TargetTls;
  /** When to give up connecting; 30 seconds unless given. */
  readonly connectWithinMs?: number;
  /** Makes the connection; it is made directly without. */
  readonly connect?: ConnectStream | undefined;
  /** The answer is about this address, as far as errors are concerned. */
  readonly shown: string;
}

export interface TargetTls extends Pick<SecureContextOptions, "cert" | "key" | "ca"> {
  readonly verify: boolean;
  /** The name that its certificate must have; its host unless given. */
  readonly servername?: string;
}

/** `name`, `name:port` or `scheme:name:port`. */
export interface SchemeNamePort {
  readonly scheme: string;
  readonly name: string;
  readonly port: string;
}

export function splitSchemeNamePort(id: string): SchemeNamePort | undefined {
  const parts = id.split(":");
  if (parts.length > 3) return undefined;
  const [scheme, name, port] = parts.length === 3 ? parts : ["", parts[0] ?? "", parts[1] ?? ""];
  if (name === "" || !["", "http", "https"].includes(scheme!)) return undefined;
  return { scheme: scheme!, name: name!, port: port! };
}

/** Not loopback, not link-local, not multicast: what a proxy may be sent to. */
export function isProxyable(address: string): boolean {
  if (address.includes(":")) return !/^(::1?$|fe[89ab]|ff)/i.test(address);
  return (
    /^\d+(\.\d+){3}$/.test(address) &&
    !/^(0\.0\.0\.0|127\.|169\.254\.|2(2[4-9]|3\d)\.|255\.255\.255\.255)/.test(address)
  );
}
