/**
 * A page without a program: what the machine itself can give while the cluster works. It has the list that
 * is waited for in the dashboard's first view, and an area as long as a table of so many rows to scroll.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const NODES_SHOWN = 100;
const ROW_PX = 32;

export interface BarePage extends Disposable {
  readonly url: string;
}

export async function serveBarePage(rows: number): Promise<BarePage> {
  const nodes = Array.from({ length: NODES_SHOWN }, (_, i) => `<li>node-${i} Ready</li>`).join("");
  const style = `section { height: 650px; overflow: auto; contain: strict }`;
  const long = `<div style="height: ${rows * ROW_PX}px"></div>`;
  const body = `<main><ul class="nodes">${nodes}</ul></main><section class="grid">${long}</section>`;
  const html = `<!doctype html><title>bare</title><style>${style}</style><body>${body}</body>`;
  const server = createServer((_request, reply) => {
    reply.writeHead(200, { "content-type": "text/html; charset=utf-8" });
    reply.end(html);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}/`, [Symbol.dispose]: close };
}
