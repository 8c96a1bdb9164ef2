/**
 * The short fault campaign: three etcd members, three API servers, two schedulers and two controller managers on
 * machines of their own, one fault of each kind that needs no other program. `test/ha/campaign/run.ts` is the
 * long one.
 */
import assert from "node:assert/strict";
import { beforeAll, describe, test } from "vitest";
import { missingProgram } from "../../tools/debian-packages.ts";
import { buildProgram } from "../built-program.ts";
import { runCampaign } from "./campaign/campaign.ts";
import { startControlPlane } from "./campaign/control-plane.ts";
import { cutOf, freezeOf, fullDiskOf, killOf, slowDiskOf } from "./campaign/faults.ts";

const missing = ["etcd", "strace", "iptables", "curl"].map(missingProgram).find(Boolean);

describe.skipIf(missing !== undefined)(`HA${missing ? ` (${missing})` : ""}`, () => {
  beforeAll(() => buildProgram());

  test("kill -9, SIGSTOP, network cuts, slow and full disks: history is linearizable, no acknowledged write lost, no watch event missed or repeated, one leader acts", async () => {
    // Writes that are under way when a leader gives up may take up to three seconds on a busy machine.
    await using plane = await startControlPlane({ leaseSeconds: [7, 4, 1] });
    const { etcd, apiServers, managers } = plane;
    const [e1, e2, e3] = etcd.map(({ machine }) => machine);
    const result = await runCampaign(plane, {
      rounds: [
        [killOf(plane, etcd[0]!)],
        [freezeOf(etcd[1]!)],
        [fullDiskOf(etcd[2]!), freezeOf(managers[0]!)],
        [cutOf(plane, e1!, [e2!])],
        [killOf(plane, apiServers[0]!), slowDiskOf(etcd[1]!)],
        [cutOf(plane, apiServers[1]!.machine, [e1!, e2!, e3!]), killOf(plane, managers[1]!)],
      ],
      ...{ seed: 1, holdMs: 0, say: () => undefined },
    });
    assert.deepEqual(result.problems, []);
    assert.ok(result.acts > 0, "the managers have worked");
  }, 300_000);
});
