/**
 * The limit for logs: Node's own HTTPS server, sending as many bytes that lie in memory, in blocks of the
 * size that the kubelet reads. Run in a process of its own: prints its port as soon as it listens.
 */
import { mkdtempSync, rmSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { issueLeaf, openAuthority } from "#pki/authority.ts";

const BLOCK_BYTES = 256 * 1024;
const [bytes = "0"] = process.argv.slice(2);

const folder = mkdtempSync(join(tmpdir(), "k8ts-bare-"));
const authority = openAuthority(join(folder, "ca"), "bare", Date.now());
rmSync(folder, { recursive: true });
const { certificatePem: cert, keyPem: key } = issueLeaf(
  authority,
  { subject: { commonName: "localhost" }, purpose: "server auth" },
  Date.now(),
);

const server = createServer({ cert, key }, (_request, response) => {
  response.writeHead(200, { "content-type": "text/plain" });
  send(response, Buffer.alloc(BLOCK_BYTES, "x"), Number(bytes));
});
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});

function send(response: ServerResponse, block: Buffer, left: number): void {
  if (left <= 0) {
    response.end();
    return;
  }
  response.write(block.subarray(0, left), () => send(response, block, left - block.length));
}
