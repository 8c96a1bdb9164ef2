/** Connections that send raw bytes, for HTTP that regular clients never send. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { connect, type TLSSocket } from "node:tls";
import { parseKubeconfig } from "#pki/kubeconfig.ts";

export const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
export const MEGABYTE = 1024 * 1024;

export function identityOf(kubeconfig: string): { ca: string; cert: string; key: string } {
  const { authorityPem, client } = parseKubeconfig(readFileSync(kubeconfig, "utf8"))!;
  return { ca: authorityPem, cert: client.certificatePem, key: client.keyPem };
}

/** A TLS connection that sends raw bytes. */
export class Raw implements Disposable {
  readonly socket: TLSSocket;
  /** The server says no more. */
  readonly ended: Promise<void>;
  #over = false;
  #text = "";
  #wake: () => void = () => undefined;

  private constructor(socket: TLSSocket) {
    this.socket = socket;
    socket.setEncoding("latin1");
    socket.on("data", (text: string) => {
      this.#text += text;
      this.#wake();
    });
    socket.on("error", () => undefined);
    this.ended = new Promise((resolve) => {
      const end = (): void => {
        this.#over = true;
        resolve();
        this.#wake();
      };
      socket.on("end", end);
      socket.on("close", end);
    });
  }

  static open(port: number, kubeconfig: string): Promise<Raw> {
    return Raw.#connect(port, identityOf(kubeconfig));
  }

  /** Without a client certificate. */
  static openAnonymous(port: number, kubeconfig: string): Promise<Raw> {
    return Raw.#connect(port, { ca: identityOf(kubeconfig).ca });
  }

  static async #connect(
    port: number,
    identity: { ca: string; cert?: string; key?: string },
  ): Promise<Raw> {
    const options = { ...identity, allowHalfOpen: true };
    const socket = connect({ ...options, host: "127.0.0.1", port, ALPNProtocols: ["http/1.1"] });
    await new Promise<void>((resolve, reject) => {
      socket.once("secureConnect", resolve);
      socket.once("error", reject);
    });
    return new Raw(socket);
  }

  send(text: string): void {
    this.socket.write(text, "latin1");
  }

  /** All that came, as soon as it matches, or the server says no more. */
  async until(wanted: RegExp): Promise<string> {
    while (!wanted.test(this.#text) && !this.#over) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    assert.match(this.#text, wanted);
    return this.#text;
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }
}

export function post(body: string, headers: readonly string[] = []): string {
  const all = ["Host: x", "Content-Type: application/json", ...headers];
  return `POST ${CONFIG_MAPS} HTTP/1.1\r\n${all.join("\r\n")}\r\n\r\n${body}`;
}

export function configMap(name: string): string {
  return JSON.stringify({ metadata: { name } });
}
