import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import { CONTAINER_STATE } from "#kubelet/cri/container-messages.ts";
import type { CriClient } from "#kubelet/cri/cri-client.ts";
import { addPlegMetrics } from "#kubelet/node/pleg-metrics.ts";
import { GRPC_CODES, GrpcError } from "#lib/grpc/grpc-status.ts";
import { runUnixServer } from "#lib/grpc/unix-server.ts";
import { silentLogger } from "#lib/logger.ts";
import { Metrics } from "#lib/metrics.ts";
import { seededRandom } from "#lib/random.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { runContainerEvents } from "./container-events.ts";

const stop = new AbortController();
let folder: string;
let endpoint: string;

// A socket without containerd's own event service.
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "k8ts-container-events-"));
  const socket = join(folder, "runtime.sock");
  endpoint = `unix://${socket}`;
  await runUnixServer({ socket, methods: [], requestBytesMax: 1_000 }, stop.signal);
});

afterAll(async () => {
  stop.abort();
  await rm(folder, { recursive: true });
});

test.each([
  ["is UNIMPLEMENTED", unimplemented],
  ["ends at once without an event", empty],
])(
  "container events: GetContainerEvents %s: containers are listed every second",
  async (_, stream) => {
    using runtime = startRuntime(stream);
    await runtime.untilListed(1);
    assert.deepEqual([runtime.lists, runtime.streams], [1, 1]);
    await runtime.clock.advance(10_000);
    assert.deepEqual([runtime.lists, runtime.streams], [11, 1]);
    runtime.state = CONTAINER_STATE.EXITED;
    await runtime.clock.advance(1_000);
    assert.deepEqual(runtime.changed, ["c"]);
  },
);

test("container events: a runtime that was away is asked for GetContainerEvents again", async () => {
  using runtime = startRuntime(unimplemented);
  await runtime.untilListed(1);
  runtime.isAway = true;
  await runtime.clock.advance(1_000);
  runtime.isAway = false;
  await runtime.untilStreams(2);
});

test("container events: a stream that was open for long is opened again, not replaced by lists", async () => {
  let end = (): void => undefined;
  using runtime = startRuntime(async function* () {
    await new Promise<void>((resolve) => {
      end = resolve;
    });
    yield* [];
  });
  await runtime.untilStreams(1);
  await runtime.clock.advance(5_000);
  end();
  await runtime.untilStreams(2);
  const { lists } = runtime;
  await runtime.clock.advance(10_000);
  assert.equal(runtime.lists, lists);
});

type Stream = () => AsyncGenerator<never, void>;

async function* unimplemented(): AsyncGenerator<never, void> {
  yield* [];
  throw new GrpcError(GRPC_CODES.UNIMPLEMENTED, "unknown method GetContainerEvents");
}

async function* empty(): AsyncGenerator<never, void> {
  yield* [];
}

/** One container, whose state the kubelet has seen as running. */
function startRuntime(stream: Stream) {
  const clock = new VirtualClock();
  const ended = new AbortController();
  const runtime = {
    clock,
    ...{ lists: 0, streams: 0, isAway: false, state: CONTAINER_STATE.RUNNING as number },
    changed: [] as string[],
    untilListed: (count: number) => eventually(clock, () => runtime.lists >= count),
    untilStreams: (count: number) => eventually(clock, () => runtime.streams >= count),
    [Symbol.dispose]: () => ended.abort(),
  };
  const cri = {
    runtime: {
      listContainers: async () => {
        runtime.lists += 1;
        if (runtime.isAway) throw new GrpcError(GRPC_CODES.UNAVAILABLE, "away");
        return { containers: [{ id: "c", state: runtime.state }] };
      },
      listPodSandbox: async () => ({ items: [] }),
    },
    containerEvents: () => {
      runtime.streams += 1;
      return stream();
    },
  } as unknown as CriClient;
  void runContainerEvents(
    {
      ...{ cri, endpoint, clock, random: seededRandom(1), logger: silentLogger },
      metrics: addPlegMetrics(new Metrics(), clock),
      onChange: (id) => runtime.changed.push(id),
      unseen: (states) =>
        [...states].filter(([, one]) => one !== CONTAINER_STATE.RUNNING).map(([id]) => id),
    },
    ended.signal,
  );
  return runtime;
}

/** The socket answers in real time; pauses between attempts are virtual. */
async function eventually(clock: VirtualClock, isTrue: () => boolean): Promise<void> {
  for (let attempt = 0; !isTrue(); attempt++) {
    assert.ok(attempt < 2_000, "it did not happen");
    await new Promise((resolve) => setTimeout(resolve, 1));
    if (attempt % 20 === 19) await clock.advance(100);
  }
}
