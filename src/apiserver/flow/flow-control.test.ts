import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { flowSchemaKind } from "#api/kinds/flowcontrol/v1/flow-schema.ts";
import { priorityLevelConfigurationKind } from "#api/kinds/flowcontrol/v1/priority-level-configuration.ts";
import { silentLogger } from "#lib/logger.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { MemoryObjects } from "#testing/memory-objects.ts";
import { flowSchemas, priorityLevels } from "../bootstrap/flow-objects.ts";
import { flowPaths } from "../paths/flow-paths.ts";
import type { RequestInfo, User } from "../request/request.ts";
import type { Admitted, FlowDecision } from "./concurrency-limiter.ts";
import { FairQueue } from "./fair-queue.ts";
import { FlowControl } from "./flow-control.ts";
import { runFlowSchemaStatus } from "./flow-schema-status.ts";
import { byPrecedence, matchesFlow } from "./match-flow.ts";
import { noCounts, PriorityLevel, type Seat, SeatPool } from "./priority-level.ts";
import { estimateWork } from "./work-estimate.ts";

const person = (name: string, ...groups: string[]): User => ({
  name,
  groups: [...groups, "system:authenticated"],
});
const get = (changes: Partial<RequestInfo> = {}): RequestInfo => ({
  isResource: true,
  verb: "get",
  path: "",
  group: "",
  version: "v1",
  resource: "pods",
  subresource: "",
  namespace: "ns",
  name: "p",
  rest: [],
  ...changes,
});
const path = (text: string): RequestInfo => get({ isResource: false, path: text, resource: "" });
const never = new AbortController();

describe("FlowSchema of a request", () => {
  const schemas = flowSchemas().sort(byPrecedence);
  const cases: { name: string; user: User; info: RequestInfo; flow: string }[] = [
    {
      name: "system:masters are exempt",
      user: person("x", "system:masters"),
      info: get(),
      flow: "exempt",
    },
    {
      name: "/healthz belongs to probes",
      user: person("x"),
      info: path("/healthz"),
      flow: "probes",
    },
    {
      name: "/livez/ping belongs to probes",
      user: person("x"),
      info: path("/livez/ping"),
      flow: "probes",
    },
    {
      name: "users belong to global-default",
      user: person("alice"),
      info: get(),
      flow: "global-default",
    },
    {
      name: "controllers belong to kube-system-service-accounts",
      user: person("system:serviceaccount:kube-system:job-controller", "system:serviceaccounts"),
      info: get(),
      flow: "kube-system-service-accounts",
    },
    {
      name: "leases of leader election belong to system-leader-election",
      user: person("system:kube-scheduler"),
      info: get({ verb: "update", group: "coordination.k8s.io", resource: "leases" }),
      flow: "system-leader-election",
    },
    {
      name: "other service accounts belong to service-accounts",
      user: person("system:serviceaccount:ns:bot", "system:serviceaccounts"),
      info: get(),
      flow: "service-accounts",
    },
    {
      name: "a node's own status",
      user: person("system:node:n", "system:nodes"),
      info: get({ verb: "patch", resource: "nodes", subresource: "status", namespace: "" }),
      flow: "system-node-high",
    },
    {
      name: "the rest of a node's requests",
      user: person("system:node:n", "system:nodes"),
      info: get(),
      flow: "system-nodes",
    },
  ];
  for (const { name, user, info, flow } of cases) {
    test(name, () => {
      const found = schemas.find((schema) => matchesFlow(schema, user, info));
      assert.equal(found?.metadata.name, flow);
    });
  }
});

describe("API priority and fairness: seats", () => {
  /** So few seats that each level has one or two. */
  const control = (clock = new VirtualClock(0), seats = 4): FlowControl =>
    new FlowControl({ seats, longRunningMax: 2, clock });
  const admitted = async (decision: FlowDecision | Promise<FlowDecision>): Promise<Admitted> => {
    const answer = await decision;
    assert.ok(answer.outcome === "admitted");
    return answer;
  };

  test("exempt requests are never queued", async () => {
    const flow = control();
    const root = person("root", "system:masters");
    for (let count = 0; count < 1000; count++) await admitted(flow.admit(root, get(), never));
  });

  test("a queued request gets the next free seat, and exempt requests are not queued behind it", async () => {
    const flow = control();
    const alice = person("alice");
    const running: Admitted[] = [];
    let waiting: Promise<FlowDecision> | undefined;
    while (waiting === undefined) {
      const decision = flow.admit(alice, get(), never);
      if (decision instanceof Promise) waiting = decision;
      else running.push(await admitted(decision));
    }
    assert.ok(running.length >= 1);
    await admitted(flow.admit(person("root", "system:masters"), get(), never));
    running[0]!.seat.release();
    await admitted(waiting);
  });

  test("queued requests are rejected after fifteen seconds", async () => {
    const clock = new VirtualClock(0);
    const flow = control(clock);
    const alice = person("alice");
    let waiting: FlowDecision | Promise<FlowDecision>;
    do waiting = flow.admit(alice, get(), never);
    while (!(waiting instanceof Promise));
    await clock.advance(15_000);
    assert.deepEqual(await waiting, { outcome: "refused", retryAfterSeconds: 1 });
    assert.equal(clock.pendingTimers, 0);
  });

  test("a client that disconnects leaves the queue", async () => {
    const clock = new VirtualClock(0);
    const flow = control(clock);
    const gone = new AbortController();
    let waiting: FlowDecision | Promise<FlowDecision>;
    do waiting = flow.admit(person("alice"), get(), gone);
    while (!(waiting instanceof Promise));
    gone.abort();
    assert.equal((await waiting).outcome, "refused");
    assert.equal(clock.pendingTimers, 0);
  });

  test("long-running requests have a separate limit", async () => {
    const flow = control();
    const watch = get({ verb: "watch" });
    const alice = person("alice");
    const start = async (): Promise<Admitted> => {
      const started = await admitted(flow.admit(alice, watch, never));
      started.seat.release(); // the initial events were sent
      return started;
    };
    const first = await start();
    await start();
    assert.equal((await flow.admit(alice, watch, never)).outcome, "refused");
    first.place!.release();
    await start();
  });

  test("a watch holds a seat until its initial events are sent, but not for ever", async () => {
    const clock = new VirtualClock(0);
    const flow = new FlowControl({ seats: 4, longRunningMax: 100, clock });
    const watch = get({ verb: "watch" });
    const alice = person("alice");
    const running: Admitted[] = [];
    let waiting: Promise<FlowDecision> | undefined;
    while (waiting === undefined) {
      const decision = flow.admit(alice, watch, never);
      if (decision instanceof Promise) waiting = decision;
      else running.push(await admitted(decision));
    }
    const log = get({ subresource: "log" });
    await admitted(flow.admit(alice, log, never)); // streams have none
    running[0]!.seat.release();
    await admitted(waiting);
    await clock.advance(15_000);
    const more = flow.admit(alice, get(), never);
    assert.ok(!(more instanceof Promise));
    for (const { seat } of running) seat.release(); // what was taken back is not given back twice
    const executing = flow.levels().map(({ level }) => level?.running ?? 0);
    assert.deepEqual(
      executing.filter((count) => count !== 0),
      [1],
    );
  });

  test("idle seats are lent to other priority levels, but not the guaranteed ones", async () => {
    const flow = control(new VirtualClock(0), 245); // one seat for each share
    const alice = person("alice");
    let own = 0;
    while (!(flow.admit(alice, get(), never) instanceof Promise)) own += 1;
    assert.ok(own > 20, `${own} seats for a level with 20`);
    const leader = person("system:kube-scheduler");
    const lease = get({ verb: "update", group: "coordination.k8s.io", resource: "leases" });
    for (let count = 0; count < 10; count++) await admitted(flow.admit(leader, lease, never));
  });

  test("changes of FlowSchemas and PriorityLevelConfigurations apply at once", async () => {
    const objects = new MemoryObjects();
    for (const level of priorityLevels()) objects.put(priorityLevelConfigurationKind, level);
    for (const schema of flowSchemas()) objects.put(flowSchemaKind, schema);
    const flow = control();
    flow.start(objects, never.signal);
    const alice = person("alice");
    const own = flowSchemas().find(({ metadata }) => metadata.name === "exempt")!;
    objects.put(flowSchemaKind, {
      ...own,
      metadata: { name: "vip", uid: "vip-uid" },
      spec: {
        ...own.spec,
        rules: [{ ...own.spec.rules![0]!, subjects: [{ kind: "User", user: { name: "alice" } }] }],
      },
    });
    assert.equal((await admitted(flow.admit(alice, get(), never))).flow?.schemaUid, "vip-uid");
  });
});

describe("API priority and fairness: a priority level and its seats", () => {
  const level = (
    more: object = {},
    pool = new SeatPool(),
    clock = new VirtualClock(0),
  ): PriorityLevel =>
    new PriorityLevel(
      {
        name: "l",
        seats: 20,
        lendable: 0,
        queuing: { queues: 1, handSize: 1, queueLengthLimit: 9 },
        ...more,
      },
      pool,
      clock,
    );

  const enter = (one: PriorityLevel, flow: string, seats = 1) =>
    one.enter(flow, one.entrance(noCounts()), never, { seats });

  test("a wide request takes several seats", async () => {
    const one = level();
    const seat = enter(one, "a", 3);
    assert.equal(one.taken, 3);
    (seat as Seat).release();
    assert.deepEqual([one.taken, one.running], [0, 0]);
  });

  test("the width of a request is limited by the seats of its level and by its hand of queues", () => {
    assert.equal(level().widthMax, 3); // of 20
    assert.equal(level({ seats: 1 }).widthMax, 1);
    const queuing = { queues: 64, handSize: 10, queueLengthLimit: 9 };
    assert.equal(level({ queuing }).widthMax, 2);
  });

  test("seats for watchers are held after the response", async () => {
    const clock = new VirtualClock(0);
    const one = level({}, new SeatPool(), clock);
    const counts = noCounts();
    const work = { seats: 1, after: { seats: 3, ms: 20 } };
    const seat = one.enter("a", one.entrance(counts), never, work) as Seat;
    assert.deepEqual([one.taken, counts.running], [3, 1]);
    seat.release();
    assert.deepEqual([one.taken, counts.running, counts.seats], [3, 0, 3]);
    await clock.advance(20);
    assert.deepEqual([one.taken, counts.seats], [0, 0]);
  });

  test("a wide request at the head of the queue is not overtaken", async () => {
    const one = level();
    const seats = Array.from({ length: 19 }, () => enter(one, "a") as Seat);
    const wide = enter(one, "b", 3);
    const small = enter(one, "c");
    assert.equal(one.waiting, 2); // one seat is free, but not three
    seats[0]!.release();
    assert.equal(one.waiting, 2);
    seats[1]!.release();
    await wide;
    assert.equal(one.waiting, 1);
    seats[2]!.release();
    await small;
  });

  test("a priority level borrows at most its borrowingLimitPercent", () => {
    const pool = new SeatPool();
    const borrower = level({ seats: 2, borrowable: 1 }, pool);
    level({ seats: 10, lendable: 10 }, pool);
    for (let at = 0; at < 3; at++) assert.ok(!(enter(borrower, "a") instanceof Promise));
    assert.ok(enter(borrower, "a") instanceof Promise);
  });

  const KILOBYTES = 1000;
  const stats =
    (count: number, each: number, watchers = 0) =>
    () => ({
      count,
      bytes: count * each,
      watchers,
    });
  const widths = [
    { name: "few objects", of: stats(100, KILOBYTES), query: "", want: 1 },
    { name: "many", of: stats(450, KILOBYTES), query: "", want: 5 },
    { name: "large ones", of: stats(10, 45 * KILOBYTES), query: "", want: 5 },
    { name: "many, a few at a time", of: stats(450, KILOBYTES), query: "limit=50", want: 1 },
    { name: "very many", of: stats(100_000, KILOBYTES), query: "limit=0", want: 10 },
    { name: "none", of: stats(0, 0), query: "", want: 1 },
    { name: "what is not stored", of: () => undefined, query: "", want: 1 },
  ];
  for (const { name, of, query, want } of widths) {
    test(`a list of ${name}`, () => {
      const seats = (changes: Partial<RequestInfo>, more = "", max = 100): number =>
        estimateWork(get(changes), new URLSearchParams(`${query}&${more}`), of, max).seats;
      assert.equal(seats({ verb: "list", name: "" }), want);
      assert.equal(seats({ verb: "watch", name: "" }), want);
      assert.equal(seats({ verb: "watch", name: "" }, "resourceVersion=0"), want);
      assert.equal(seats({ verb: "watch", name: "" }, "resourceVersion=7"), 1);
      assert.equal(seats({ verb: "list" }), 1); // of one name
      assert.equal(seats({ verb: "list", name: "" }, "", 2), Math.min(want, 2));
      assert.equal(seats({ verb: "create" }), 1);
    });
  }

  test("writes hold seats for as many watchers as see them", () => {
    const heldAfter = (watchers: number, changes: Partial<RequestInfo> = {}) =>
      estimateWork(get({ verb: "update", ...changes }), undefined, stats(1, 1, watchers), 8).after;
    assert.equal(heldAfter(9), undefined);
    assert.deepEqual(heldAfter(10), { seats: 1, ms: 5 });
    assert.deepEqual(heldAfter(45), { seats: 5, ms: 5 });
    assert.deepEqual(heldAfter(800), { seats: 8, ms: 50 }); // fewer for longer
    assert.equal(heldAfter(800, { subresource: "token", resource: "serviceaccounts" }), undefined);
    assert.equal(heldAfter(800, { verb: "get" }), undefined);
  });

  test("dispatched and rejected requests are counted, also when the configuration changes", async () => {
    const flow = new FlowControl({ seats: 1, longRunningMax: 1, clock: new VirtualClock(0) });
    for (let at = 0; at < 3; at++) void flow.admit(person("x", "system:masters"), get(), never);
    const exempt = flow.levels().find(({ name }) => name === "exempt")!;
    assert.equal(exempt.flows.get("exempt")?.dispatched, 3);
    const answer = await flowPaths(flow)(
      { path: "/debug/api_priority_and_fairness/dump_priority_levels" } as never,
      get(),
      person("x"),
    );
    const text = Buffer.from((answer!.body as { bytes: Uint8Array }).bytes).toString();
    assert.match(text, /^PriorityLevelName, ActiveQueues, IsIdle, IsQuiescing, WaitingRequests, /);
    assert.match(text, /\nexempt, {12}0, {12}false, {2}false, {7}0, {15}0, {17}3, /);
  });
});

const waitingOf = (flow: string) => ({ flow, seats: 1, go: () => undefined });

describe("API priority and fairness: fair queuing", () => {
  const options = { queues: 16, handSize: 4, queueLengthLimit: 3 };

  test("a busy flow fills only its own queues", () => {
    const queue = new FairQueue(options);
    let busy = 0;
    while (queue.push(waitingOf("busy"))) busy += 1;
    assert.equal(busy, options.handSize * options.queueLengthLimit);
    assert.ok(queue.push(waitingOf("quiet")));
  });

  test("queues are served in turn", () => {
    const queue = new FairQueue({ queues: 1024, handSize: 1, queueLengthLimit: 100 });
    const order: string[] = [];
    const push = (flow: string): void => {
      queue.push({ ...waitingOf(flow), go: () => void order.push(flow) });
    };
    for (let count = 0; count < 5; count++) push("busy");
    push("quiet");
    for (let next = queue.shift(); next; next = queue.shift()) next.go();
    assert.deepEqual(order, ["busy", "quiet", "busy", "busy", "busy", "busy"]);
  });

  test("a cancelled request leaves no gap in the queue", () => {
    const queue = new FairQueue(options);
    const one = waitingOf("a");
    queue.push(one);
    queue.remove(one);
    assert.equal(queue.length, 0);
    assert.equal(queue.shift(), undefined);
  });
});

test("FlowSchema status: the condition Dangling says whether the priority level exists", async () => {
  const objects = new MemoryObjects();
  const [schema] = flowSchemas();
  objects.put(flowSchemaKind, schema!);
  const clock = new VirtualClock("2030-01-01T00:00:00Z");
  runFlowSchemaStatus(objects, clock, silentLogger, never.signal);
  await clock.advance(0);
  const condition = () =>
    objects.get(flowSchemaKind, "", schema!.metadata.name!)!.status.conditions![0]!;
  assert.equal(condition().status, "True");
  for (const level of priorityLevels()) objects.put(priorityLevelConfigurationKind, level);
  await clock.advance(0);
  assert.deepEqual(condition(), {
    type: "Dangling",
    status: "False",
    lastTransitionTime: "2030-01-01T00:00:00Z",
    reason: "Found",
    message:
      'This FlowSchema references the PriorityLevelConfiguration object named "exempt" and it exists',
  });
});
