/** `k8ts image` of the built program against a real containerd. */
import assert from "node:assert/strict";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import { startContainerd } from "#kubelet/containerd/run-containerd.ts";
import { containerdImages } from "#kubelet/images/containerd-images.ts";
import { PAUSE_IMAGE, writePauseImage } from "#kubelet/images/pause-image.ts";
import { silentLogger } from "#lib/logger.ts";
import { systemRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { missingProgram } from "../../tools/debian-packages.ts";
import { buildProgram, runProgram } from "../built-program.ts";

const folder = mkdtempSync(join(tmpdir(), "k8ts-images-"));
const life = new AbortController();
let endpoint = "";
let ended: Promise<void> = Promise.resolve();

beforeAll(async () => {
  for (const program of ["containerd", "runc", "busybox"] as const) missingProgram(program);
  buildProgram();
  const settings = {
    ...{ root: join(folder, "root"), state: join(folder, "run"), cniBin: "/usr/lib/cni" },
    ...{ cniConf: join(folder, "cni"), sandboxImage: PAUSE_IMAGE, systemdCgroup: false },
    ...{ restrictOomScoreAdj: true, handlers: { runc: "runc" } },
  };
  const surroundings = { clock: systemClock, random: systemRandom, logger: silentLogger };
  const running = await startContainerd({ settings, ...surroundings }, life.signal);
  ({ endpoint, ended } = running);
}, 120_000);

afterAll(async () => {
  life.abort();
  await ended;
  rmSync(folder, { recursive: true, force: true });
});

function image(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  const [name = "", ...rest] = args;
  const own = ["--data", folder, "--container-runtime-endpoint", endpoint];
  return runProgram(["image", name, ...own, ...rest]);
}

function listed(): readonly string[] {
  const { stdout } = image("ls", "--output", "json");
  return (JSON.parse(stdout) as { repoTags: string[] }[])
    .flatMap(({ repoTags }) => repoTags)
    .sort();
}

/** A folder with busybox as its shell. */
function busyboxFolder(name: string): string {
  const root = join(folder, name);
  mkdirSync(join(root, "bin"), { recursive: true });
  copyFileSync("/bin/busybox", join(root, "bin", "busybox"));
  copyFileSync("/bin/busybox", join(root, "bin", "sh"));
  chmodSync(join(root, "bin", "sh"), 0o755);
  return root;
}

test("image build, ls, save, rm and import work on containerd", () => {
  const root = busyboxFolder("demo");
  const built = image("build", root, "-t", "k8ts.local/demo:1", "--entrypoint", "sh");
  assert.equal(built.status, 0, built.stderr);
  assert.deepEqual(listed(), ["k8ts.local/demo:1"]);
  assert.match(
    image("ls").stdout,
    /^NODE +IMAGE +ID +SIZE\n.*k8ts\.local\/demo:1 +[0-9a-f]{12} +\d/,
  );

  const file = join(folder, "demo.tar");
  const saved = image("save", "k8ts.local/demo:1", "-o", file);
  assert.equal(saved.status, 0, saved.stderr);
  assert.ok(existsSync(file));
  assert.equal(image("rm", "k8ts.local/demo:1").status, 0);
  assert.deepEqual(listed(), []);

  const imported = image("import", file);
  assert.equal(imported.status, 0, imported.stderr);
  assert.equal(imported.stdout, "k8ts.local/demo:1\n");
  assert.deepEqual(listed(), ["k8ts.local/demo:1"]);
}, 60_000);

test("image build -t with a short name: the runtime finds the image under that name, as pods write it", () => {
  const built = image("build", busyboxFolder("short"), "-t", "short");
  assert.equal(built.status, 0, built.stderr);
  assert.ok(listed().includes("docker.io/library/short:latest"));
  const saved = image("save", "short:latest", "-o", join(folder, "short.tar")); // asks the CRI
  assert.equal(saved.status, 0, saved.stderr);
  assert.equal(image("rm", "short").status, 0);
  const wrong = image("build", busyboxFolder("wrong"), "-t", "Not An Image");
  assert.match(wrong.stderr, /--tag: Not An Image is not the name of an image/);
}, 60_000);

test("image save keeps the name that was asked for when an image has several tags", () => {
  const root = busyboxFolder("several-tags");
  for (const tag of ["k8ts.local/several:1", "k8ts.local/several:2"]) {
    const built = image("build", root, "-t", tag);
    assert.equal(built.status, 0, built.stderr);
  }
  const file = join(folder, "several.tar");
  const saved = image("save", "k8ts.local/several:2", "-o", file);
  assert.equal(saved.status, 0, saved.stderr);
  assert.equal(image("import", file).stdout, "k8ts.local/several:2\n");
  assert.equal(image("rm", "k8ts.local/several:1").status, 0);
}, 60_000);

test("image build --base adds a layer above the layers of an image", () => {
  const root = join(folder, "above");
  mkdirSync(root);
  writeFileSync(join(root, "hello"), "from above\n");
  const built = image("build", root, "-t", "k8ts.local/above:1", "--base", "k8ts.local/demo:1");
  assert.equal(built.status, 0, built.stderr);
  assert.ok(listed().includes("k8ts.local/above:1"));
  const missing = image("build", root, "-t", "x:1", "--base", "no-such-image");
  assert.equal(missing.status, 1);
  assert.match(missing.stderr, /no-such-image is not on/);
}, 60_000);

test("image import refuses what is no image", () => {
  const file = join(folder, "not-an-image");
  writeFileSync(file, "text");
  assert.equal(image("import", file).status, 1);
  assert.equal(image("import", join(folder, "missing")).status, 1);
  const layout = image("import", join(folder, "demo"));
  assert.match(layout.stderr, /is not an OCI image layout/);
}, 60_000);

test("the pause image of this machine's processor can be imported", async () => {
  const file = join(folder, "pause.tar");
  await writePauseImage(process.arch, file, folder);
  const names = await containerdImages(endpoint, folder).importFile(file);
  assert.deepEqual(names, [PAUSE_IMAGE]);
  assert.ok(listed().includes(PAUSE_IMAGE));
}, 60_000);
