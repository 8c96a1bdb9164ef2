/** A real HTTPS server on loopback with a certificate of its own authority. */
import { mkdtempSync, rmSync } from "node:fs";
import type { RequestListener } from "node:http";
import { createServer, type Server, type ServerOptions } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { issueLeaf, openAuthority } from "#pki/authority.ts";

export interface TestHttpsServer extends AsyncDisposable {
  readonly server: Server;
  readonly port: number;
  /** Base64 of PEM. */
  readonly caBundle: string;
}

export async function startHttpsServer(
  names: readonly string[],
  listener: RequestListener,
  options: ServerOptions = {},
): Promise<TestHttpsServer> {
  const directory = mkdtempSync(join(tmpdir(), "k8ts-https-"));
  const authority = openAuthority(join(directory, "ca"), "test", Date.now());
  const request = {
    subject: { commonName: "test" },
    purpose: "server auth",
    altNames: names,
  } as const;
  const { certificatePem, keyPem } = issueLeaf(authority, request, Date.now());
  const server = createServer({ cert: certificatePem, key: keyPem, ...options }, listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    server,
    port: (server.address() as AddressInfo).port,
    caBundle: Buffer.from(authority.certificatePem).toString("base64"),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

export async function bodyOf(request: AsyncIterable<unknown>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk as Uint8Array));
  return Buffer.concat(chunks).toString("utf8");
}
