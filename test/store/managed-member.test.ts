/** A managed etcd member whose start fails leaves neither a process nor its supervision behind. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { type MemberOptions, startMember } from "#etcd/managed-member.ts";
import { memberDataDir } from "#etcd/member-record.ts";
import { listProcesses } from "#host/processes.ts";
import { silentLogger } from "#lib/logger.ts";
import { systemRandom } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { freePorts } from "#testing/free-ports.ts";
import { missingProgram } from "../../tools/debian-packages.ts";

const missing = missingProgram("etcd");

describe.skipIf(missing !== undefined)(`managed etcd${missing ? ` (${missing})` : ""}`, () => {
  const dataDir = mkdtempSync(join(tmpdir(), "k8ts-member-"));
  let taken: Server;
  let clientPort: number;

  beforeAll(async () => {
    taken = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => taken.once("listening", resolve));
    const address = taken.address();
    clientPort = typeof address === "object" ? (address?.port ?? 0) : 0;
  });
  afterAll(() => {
    taken.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  test("etcd that cannot listen: startMember fails with etcd's words, and it is not started again", async () => {
    const [peerPort] = await freePorts(1);
    let waiting = 0;
    const clock: Clock = {
      ...systemClock,
      sleep: async (ms, signal) => {
        waiting += 1;
        await systemClock.sleep(ms, signal).finally(() => {
          waiting -= 1;
        });
      },
    };
    const options: MemberOptions = {
      ...{ dataDir, name: "m1", address: "127.0.0.1", clientPort, peerPort: peerPort! },
      ...{ names: [], extra: [], clock, random: systemRandom, logger: silentLogger },
    };
    await assert.rejects(
      startMember(options, new AbortController().signal),
      /etcd did not start: .*address already in use/s,
    );
    assert.equal(waiting, 0, "a back-off before another start");
    const left = (await listProcesses()).filter(({ words }) =>
      words.includes(`--data-dir=${memberDataDir(dataDir)}`),
    );
    assert.deepEqual(left, []);
  });
});
