import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import {
  mustVerify,
  type PullSecret,
  type VerificationPolicy,
  whyBadPattern,
} from "#kubelet/decide/pull-verification.ts";
import { silentLogger } from "#lib/logger.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { PullRecords } from "./pull-records.ts";

const IMAGE = "example.com/app:1";
const REF = "sha256:1";
const secret = (name: string, credentialHash: string): PullSecret => ({
  ...{ uid: name, namespace: "default", name, credentialHash },
});

async function withRecords(
  work: (open: (policy?: VerificationPolicy) => PullRecords, root: string) => Promise<void>,
): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), "k8ts-pulls-"));
  const clock = new VirtualClock("2030-01-01T00:00:00Z");
  const open = (policy: VerificationPolicy = "NeverVerifyPreloadedImages"): PullRecords =>
    new PullRecords({ root, policy, allowlist: [], clock, logger: silentLogger });
  try {
    await work(open, root);
  } finally {
    await rm(root, { recursive: true });
  }
}

test("imagePullCredentialsVerificationPolicy: an image pulled with a secret is for pods with that secret", () =>
  withRecords(async (open) => {
    const records = open();
    const must = (...own: PullSecret[]): Promise<boolean> =>
      open().mustPull(IMAGE, REF, async () => own);
    assert.equal(await must(), false, "was always on the node");
    await records.begin(IMAGE);
    assert.equal(await must(), true, "being pulled by another pod");
    await records.succeed(IMAGE, REF, secret("a", "1"));
    assert.equal(await must(), true);
    assert.equal(await must(secret("b", "2")), true);
    assert.equal(await must(secret("a", "1")), false);
    assert.equal(await must(secret("a", "3")), false, "the secret has changed");
    assert.equal(await must(secret("c", "3")), false, "another secret with the same content");
    assert.equal(await open("NeverVerify").mustPull(IMAGE, REF, async () => []), false);
    assert.equal(
      await open().mustPull("example.com/other:1", REF, async () => [secret("a", "1")]),
      true,
      "another repository",
    );
    await records.succeed(IMAGE, REF, undefined);
    assert.equal(await must(), false, "a pull without credentials worked");
  }));

test("ImagePullIntent: a pull that a crash interrupted counts as pulled with unknown credentials", () =>
  withRecords(async (open, root) => {
    await open().begin(IMAGE);
    const records = open();
    const image = { id: REF, repoTags: [IMAGE], repoDigests: [], size: 0, pinned: false };
    await records.load(async () => [{ ...image, uid: undefined, username: "", spec: undefined }]);
    assert.deepEqual(await readdir(join(root, "image_manager", "pulling")), []);
    assert.equal(await records.mustPull(IMAGE, REF, async () => [secret("a", "1")]), true);
    await records.prune(new Set([REF]), Date.parse("2031-01-01T00:00:00Z"));
    assert.equal((await readdir(join(root, "image_manager", "pulled"))).length, 1);
    await records.prune(new Set(), Date.parse("2031-01-01T00:00:00Z"));
    assert.equal((await readdir(join(root, "image_manager", "pulled"))).length, 0);
  }));

test("preloadedImagesVerificationAllowlist: names and prefixes without tags", () => {
  const list = ["example.com/app", "quay.io/*"];
  const must = (image: string): boolean =>
    mustVerify("NeverVerifyAllowlistedImages", list, image, true);
  assert.deepEqual(["example.com/app:1", "quay.io/x/y@sha256:0", "other/x"].map(must), [
    ...[false, false, true],
  ]);
  assert.equal(whyBadPattern("quay.io/*"), undefined);
  assert.match(whyBadPattern("a/*/b") ?? "", /only patterns ending with/);
  assert.match(whyBadPattern("a:1") ?? "", /neither tag nor digest/);
});
