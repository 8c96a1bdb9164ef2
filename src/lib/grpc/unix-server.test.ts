import assert from "node:assert/strict";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import { message } from "#lib/protobuf/message.ts";
import { GrpcClient } from "./grpc-client.ts";
import { GRPC_CODES, GrpcError } from "./grpc-status.ts";
import { runUnixServer, unaryMethod } from "./unix-server.ts";

const text = message({ text: [1, "text"] });
const echo = { path: "/test.Echo/Echo", request: text, response: text };
const absent = { ...echo, path: "/test.Echo/Absent" };
const stop = new AbortController();
let folder: string;
let client: GrpcClient;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "k8ts-unix-server-"));
  const socket = join(folder, "sub", "a.sock");
  const method = unaryMethod(echo, ({ text }) => {
    if (text === "refused") throw new GrpcError(GRPC_CODES.NOT_FOUND, "no ä 100 %");
    if (text === "broken") throw new Error("broke");
    return { text };
  });
  await runUnixServer({ socket, methods: [method], requestBytesMax: 1_000 }, stop.signal);
  client = new GrpcClient(`unix://${socket}`);
});

afterAll(async () => {
  client.close();
  stop.abort();
  await rm(folder, { recursive: true });
});

test("gRPC server: 50 concurrent unary calls are answered", async () => {
  const texts = Array.from({ length: 50 }, (_, i) => `hello ${i}`);
  const answers = await Promise.all(texts.map((one) => client.call(echo, { text: one })));
  assert.deepEqual(
    answers.map((one) => one.text),
    texts,
  );
});

test.each([
  ["a GrpcError keeps its code and text", echo, "refused", GRPC_CODES.NOT_FOUND, /no ä 100 %/],
  ["another error is UNKNOWN", echo, "broken", GRPC_CODES.UNKNOWN, /broke/],
  [
    "a request that is too long is RESOURCE_EXHAUSTED",
    echo,
    "x".repeat(2_000),
    GRPC_CODES.RESOURCE_EXHAUSTED,
    /larger/,
  ],
  [
    "an unknown method is UNIMPLEMENTED",
    absent,
    "",
    GRPC_CODES.UNIMPLEMENTED,
    /unknown method Absent/,
  ],
] as const)("%s", async (_name, method, sent, code, says) => {
  await assert.rejects(client.call(method, { text: sent }), (error: GrpcError) => {
    assert.equal(error.code, code);
    assert.match(error.message, says);
    return true;
  });
});

test("gRPC server: the Unix socket has mode 0600", async () => {
  const { mode } = await stat(join(folder, "sub", "a.sock"));
  assert.equal(mode & 0o777, 0o600);
});
