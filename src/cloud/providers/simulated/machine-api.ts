/**
 * The machine API of the simulated cloud over HTTP, for tools that make and remove machines as an
 * autoscaler does. docs/cloud.md has its form. It has no authentication: it listens on loopback unless
 * the configuration says otherwise.
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import { messageOf } from "#lib/caught.ts";
import { startHttpServer } from "#lib/http/start-http-server.ts";
import { CloudError, type Fault, type SimulatedCloud } from "./simulated-cloud.ts";
import { machineOf } from "./simulated-config.ts";

const BODY_BYTES_MAX = 64 * 1024;
const REQUEST_TIMEOUT_MS = 60_000;

const STATUS: Readonly<Record<CloudError["code"], number>> = {
  NotFound: 404,
  Conflict: 409,
  QuotaExceeded: 403,
  Fault: 503,
};

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** Answers the port when it listens; ends with the signal. */
export async function startMachineApi(
  cloud: SimulatedCloud,
  { host, port }: { readonly host: string; readonly port: number },
  signal: AbortSignal,
): Promise<number> {
  const server = await startHttpServer(
    {
      at: { host, port },
      limits: { requestWithinMs: REQUEST_TIMEOUT_MS },
      request: (request, reply) => {
        answer(cloud, request, signal).then(
          (answered) => send(reply, answered),
          (error: unknown) => send(reply, refusalOf(error)),
        );
      },
    },
    signal,
  );
  return server.port;
}

async function answer(
  cloud: SimulatedCloud,
  request: IncomingMessage,
  signal: AbortSignal,
): Promise<Answer> {
  const { method = "GET", url = "/" } = request;
  const [path = ""] = url.split("?", 1);
  const [, collection = "", id, verb, ...rest] = path.split("/");
  const route =
    rest.length > 0 ? "" : [method, collection, id && ":id", verb].filter(Boolean).join(" ");
  switch (route) {
    case "GET machines":
      return { status: 200, body: { items: cloud.machines() } };
    case "POST machines": {
      const machine = await cloud.createMachine(machineOf(await bodyOf(request)), signal);
      return { status: 201, body: machine };
    }
    case "GET machines :id": {
      const machine = cloud.machines().find((one) => one.id === id);
      if (machine === undefined) throw new CloudError("NotFound", `no machine "${id}"`);
      return { status: 200, body: machine };
    }
    case "DELETE machines :id":
      await cloud.deleteMachine(id ?? "", signal);
      return { status: 200, body: {} };
    case "POST machines :id stop":
      return { status: 200, body: await cloud.setMachineState(id ?? "", "stopped", signal) };
    case "POST machines :id start":
      return { status: 200, body: await cloud.setMachineState(id ?? "", "running", signal) };
    case "GET loadbalancers":
      return { status: 200, body: { items: cloud.balancers() } };
    case "GET routes":
      return { status: 200, body: { items: cloud.routes() } };
    case "GET faults":
      return { status: 200, body: { items: cloud.faults } };
    case "PUT faults": {
      const { items } = (await bodyOf(request)) as { readonly items?: readonly Fault[] };
      if (!Array.isArray(items)) throw new Error("items must be a list of faults");
      cloud.setFaults(items);
      return { status: 200, body: { items: cloud.faults } };
    }
    default:
      throw new CloudError("NotFound", `no ${method} ${path}`);
  }
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > BODY_BYTES_MAX) throw new Error(`the body has more than ${BODY_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return JSON.parse(Buffer.concat(chunks).toString("utf8"));
}

function refusalOf(error: unknown): Answer {
  const message = messageOf(error);
  if (!(error instanceof CloudError)) return { status: 400, body: { code: "BadRequest", message } };
  return { status: STATUS[error.code], body: { code: error.code, message } };
}

function send(reply: ServerResponse, { status, body }: Answer): void {
  reply.writeHead(status, { "content-type": "application/json" });
  reply.end(`${JSON.stringify(body)}\n`);
}
