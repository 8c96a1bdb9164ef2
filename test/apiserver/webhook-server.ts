/** A webhook on a real port, with an authority of its own, and the kubeconfig that leads to it. */
import { writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { issueLeaf, openAuthority } from "#pki/authority.ts";

// biome-ignore lint/suspicious/noExplicitAny: tests look into questions of every shape
type Json = any;

export interface WebhookServer extends AsyncDisposable {
  readonly kubeconfig: string;
  /** What it was asked, oldest first. */
  readonly asked: Json[];
  /** Of the requests, with the headers that prove who asks. */
  readonly credentials: (string | undefined)[];
}

/** `answer` gives the status of the answer, or an HTTP code. */
export async function startWebhook(
  directory: string,
  name: string,
  answer: (question: Json) => object | number,
): Promise<WebhookServer> {
  const nowMs = Date.now();
  const authority = openAuthority(join(directory, `${name}-ca`), `${name}-ca`, nowMs);
  const { certificatePem, keyPem } = issueLeaf(
    authority,
    { subject: { commonName: name }, purpose: "server auth", altNames: ["127.0.0.1"] },
    nowMs,
  );
  const asked: Json[] = [];
  const credentials: (string | undefined)[] = [];
  const server = createServer({ cert: certificatePem, key: keyPem }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const question = JSON.parse(Buffer.concat(chunks).toString());
      asked.push(question);
      credentials.push(request.headers.authorization);
      const status = request.url === "/ask" ? answer(question) : 404;
      const code = typeof status === "number" ? status : 200;
      response.writeHead(code, { "content-type": "application/json" });
      response.end(JSON.stringify(typeof status === "number" ? {} : { ...question, status }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const kubeconfig = join(directory, `${name}.kubeconfig`);
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name: "hook",
        cluster: {
          server: `https://127.0.0.1:${port}/ask`,
          "certificate-authority-data": Buffer.from(authority.certificatePem).toString("base64"),
        },
      },
    ],
    users: [{ name: "apiserver", user: { token: "let me in" } }],
    contexts: [{ name: "hook", context: { cluster: "hook", user: "apiserver" } }],
    "current-context": "hook",
  };
  writeFileSync(kubeconfig, JSON.stringify(config));
  return {
    kubeconfig,
    asked,
    credentials,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
