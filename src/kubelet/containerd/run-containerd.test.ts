import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { createCriClient } from "#kubelet/cri/cri-client.ts";
import { silentLogger } from "#lib/logger.ts";
import { systemRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { startContainerd } from "./run-containerd.ts";

test("containerd is started again after kill -9 and ends with the signal", async () => {
  const dir = await mkdtemp(join(tmpdir(), "k8ts-ctd-"));
  const abort = new AbortController();
  const settings = {
    ...{ root: join(dir, "root"), state: join(dir, "run"), cniBin: "/usr/lib/cni" },
    ...{ cniConf: join(dir, "cni"), sandboxImage: "pause", systemdCgroup: false },
    ...{ restrictOomScoreAdj: true, handlers: { runc: "runc" } },
  };
  try {
    const running = await startContainerd(
      { settings, clock: systemClock, random: systemRandom, logger: silentLogger },
      abort.signal,
    );
    const firstPid = running.pid ?? assert.fail("no pid");
    process.kill(firstPid, "SIGKILL");
    using cri = createCriClient({ endpoint: running.endpoint, timeoutMs: 1_000 });
    let answer: string | undefined;
    for (let attempt = 0; attempt < 100 && answer === undefined; attempt++) {
      answer = await cri.runtime.version({}).then(
        ({ runtimeName }) => runtimeName,
        () => undefined,
      );
      if (answer === undefined) await systemClock.sleep(100);
    }
    assert.equal(answer, "containerd");
    assert.notEqual(running.pid, firstPid);
    abort.abort();
    await running.ended;
  } finally {
    abort.abort();
    await rm(dir, { recursive: true, force: true });
  }
}, 60_000);

test("containerd that cannot start is an error with what it wrote", async () => {
  const dir = await mkdtemp(join(tmpdir(), "k8ts-ctd-"));
  const settings = {
    ...{ root: join(dir, "root"), state: join(dir, "run"), cniBin: "/usr/lib/cni" },
    ...{ cniConf: join(dir, "cni"), sandboxImage: "pause", systemdCgroup: false },
    ...{ restrictOomScoreAdj: true, handlers: {} },
  };
  const options = { settings, clock: systemClock, random: systemRandom, logger: silentLogger };
  await assert.rejects(
    startContainerd({ ...options, program: "/bin/false" }, new AbortController().signal),
    /containerd did not start/,
  );
  await rm(dir, { recursive: true, force: true });
}, 60_000);
