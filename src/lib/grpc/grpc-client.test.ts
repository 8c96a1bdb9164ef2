/** The gRPC client against the reference implementation's server. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
} from "@grpc/grpc-js";
import { test } from "vitest";
import { deferred } from "#lib/async/deferred.ts";
import { message, type ReadOf, type WriteOf } from "#lib/protobuf/message.ts";
import { GrpcClient } from "./grpc-client.ts";
import { GRPC_CODES, GrpcError } from "./grpc-status.ts";

const note = message({ text: [1, "text"], count: [2, "int"] });
type Note = ReadOf<typeof note>;
const say = { path: "/test.Notes/Say", request: note, response: note } as const;
const repeat = { path: "/test.Notes/Repeat", request: note, response: note } as const;
const missing = { path: "/test.Notes/Missing", request: note, response: note } as const;

interface Service {
  say(call: ServerUnaryCall<Note, WriteOf<typeof note>>, done: Done): void;
  repeat(call: ServerWritableStream<Note, WriteOf<typeof note>>): void;
}
type Done = (error: object | null, answer?: WriteOf<typeof note>) => void;

const echoing: Service = {
  say: ({ request }, done) => done(null, request),
  repeat(call) {
    const { text, count } = call.request;
    for (let at = 0; at < count; at++) call.write({ text, count: at });
    call.end();
  },
};

async function serve(service: Partial<Service>, at?: string) {
  const directory = mkdtempSync(join(tmpdir(), "k8ts-grpc-"));
  const socket = at ?? join(directory, "socket");
  const server = new Server();
  const shape = (path: string, responseStream: boolean) => ({
    path,
    requestStream: false,
    responseStream,
    requestSerialize: (value: Note) => note.encode(value),
    requestDeserialize: (bytes: Buffer) => note.decode(bytes),
    responseSerialize: (value: Note) => note.encode(value),
    responseDeserialize: (bytes: Buffer) => note.decode(bytes),
  });
  const definition = { say: shape(say.path, false), repeat: shape(repeat.path, true) };
  server.addService(definition, { ...echoing, ...service } as never);
  await new Promise<void>((resolve, reject) => {
    const credentials = ServerCredentials.createInsecure();
    server.bindAsync(`unix:${socket}`, credentials, (error) => (error ? reject(error) : resolve()));
  });
  return {
    endpoint: `unix://${socket}`,
    async [Symbol.asyncDispose]() {
      server.forceShutdown();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

test("gRPC: a unary call, many at once, and messages larger than a frame", async () => {
  await using server = await serve({});
  using client = new GrpcClient(server.endpoint);
  const texts = Array.from({ length: 100 }, (_, at) => `text ${at} `.repeat(at * 30));
  const answers = await Promise.all(texts.map((text) => client.call(say, { text })));
  assert.deepEqual(
    answers.map(({ text }) => text),
    texts,
  );
});

test("gRPC: a failure has the server's code and message, also beyond ASCII", async () => {
  const code = GRPC_CODES.NOT_FOUND;
  const details = "kein Behälter: 100% weg";
  await using server = await serve({ say: (_, done) => done({ code, details }) });
  using client = new GrpcClient(server.endpoint);
  await assert.rejects(client.call(say, {}), (error) => {
    assert.ok(error instanceof GrpcError);
    assert.deepEqual([error.code, error.message], [code, details]);
    return true;
  });
  await assert.rejects(client.call(missing, {}), { code: GRPC_CODES.UNIMPLEMENTED });
});

test("gRPC: DEADLINE_EXCEEDED and a signal cancel the call at the server", async () => {
  const cancelled = [deferred<void>(), deferred<void>()];
  const waiting = [deferred<void>(), deferred<void>()];
  let calls = 0;
  await using server = await serve({
    say(call) {
      const at = calls++;
      call.on("cancelled", () => cancelled[at]?.resolve());
      waiting[at]?.resolve();
    },
  });
  using client = new GrpcClient(server.endpoint);
  await assert.rejects(client.call(say, {}, { timeoutMs: 50 }), {
    code: GRPC_CODES.DEADLINE_EXCEEDED,
  });
  const abort = new AbortController();
  const call = client.call(say, {}, { signal: abort.signal });
  call.catch(() => undefined);
  await waiting[1]?.promise;
  abort.abort(new Error("enough"));
  await assert.rejects(call, /enough/);
  await cancelled[1]?.promise;
});

test("gRPC: a server stream is delivered in order to a consumer that is slow", async () => {
  await using server = await serve({});
  using client = new GrpcClient(server.endpoint);
  const counts: number[] = [];
  const { signal } = new AbortController();
  const text = "x".repeat(2_000);
  for await (const { count } of client.stream(repeat, { text, count: 3_000 }, signal)) {
    counts.push(count);
    if (count % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  assert.deepEqual(
    counts,
    Array.from({ length: 3_000 }, (_, at) => at),
  );
});

test("gRPC: a stream ends with its signal, and fails with the server's error", async () => {
  await using server = await serve({
    repeat(call) {
      if (call.request.text === "fail") call.emit("error", { code: 9, details: "not now" });
      else call.write({ text: "one" });
    },
  });
  using client = new GrpcClient(server.endpoint);
  const abort = new AbortController();
  const texts: string[] = [];
  for await (const { text } of client.stream(repeat, {}, abort.signal)) {
    texts.push(text);
    abort.abort();
  }
  assert.deepEqual(texts, ["one"]);
  const failing = client.stream(repeat, { text: "fail" }, new AbortController().signal);
  await assert.rejects(failing.next(), { code: GRPC_CODES.FAILED_PRECONDITION });
});

test("gRPC: a server that is away is UNAVAILABLE; waitForReady waits for it", async () => {
  const directory = mkdtempSync(join(tmpdir(), "k8ts-grpc-"));
  const socket = join(directory, "late");
  using client = new GrpcClient(socket);
  try {
    await assert.rejects(client.call(say, {}), {
      code: GRPC_CODES.UNAVAILABLE,
      notProcessed: true,
    });
    const call = client.call(say, { text: "late" }, { waitForReady: true, timeoutMs: 60_000 });
    await using _ = await serve({}, socket);
    assert.equal((await call).text, "late");
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

test("gRPC: a server that was restarted is connected to again; close ends what is under way", async () => {
  const directory = mkdtempSync(join(tmpdir(), "k8ts-grpc-"));
  const socket = join(directory, "again");
  const client = new GrpcClient(socket);
  const options = { waitForReady: true, timeoutMs: 60_000 };
  try {
    for (const text of ["first", "second"]) {
      const asked = deferred<void>();
      await using _ = await serve(
        {
          say({ request }, done) {
            if (request.text === "hold") asked.resolve();
            else done(null, request);
          },
        },
        socket,
      );
      let answer: Note | undefined;
      // The call may meet the end of the old connection: nothing is repeated by the client.
      while (answer === undefined) {
        answer = await client.call(say, { text }, options).catch(() => undefined);
      }
      assert.equal(answer.text, text);
      if (text === "first") continue;
      const call = client.call(say, { text: "hold" }, options);
      call.catch(() => undefined);
      await asked.promise;
      client.close();
      await assert.rejects(call, { code: GRPC_CODES.CANCELLED });
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});
