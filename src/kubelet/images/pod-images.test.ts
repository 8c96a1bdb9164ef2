import assert from "node:assert/strict";
import { test } from "vitest";
import type { Pod, Secret } from "#api/generated/core.v1.ts";
import type { ImageService } from "#kubelet/cri/cri-client.ts";
import type { AuthConfig } from "#kubelet/cri/image-methods.ts";
import { isImageName } from "#kubelet/decide/inputs/image-name.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { PodImages } from "./pod-images.ts";
import { PullSlots } from "./pull-slots.ts";

test("image pull: ErrImagePull, ImagePullBackOff until the back-off is over, then success", async () => {
  const world = worldOf();
  const reasons: string[] = [];
  for (const waitMs of [0, 1_000, 9_000, 1_000]) {
    await world.clock.advance(waitMs);
    const outcome = await world.ensure({});
    reasons.push(outcome.ok ? outcome.ref : outcome.reason);
    if (!outcome.ok && outcome.reason === "ImagePullBackOff") {
      assert.equal(
        outcome.message,
        `Back-off pulling image "example.com/app": ErrImagePull: connection refused`,
      );
    }
  }
  assert.deepEqual(reasons, [
    "ErrImagePull",
    "ImagePullBackOff",
    "ErrImagePull",
    "ImagePullBackOff",
  ]);
  world.isUp = true;
  await world.clock.advance(20_000);
  const outcome = await world.ensure({});
  assert.equal(outcome.ok && outcome.ref, "sha256:1");
});

test("image pull: imagePullSecrets of the image's registry are used", async () => {
  const world = worldOf();
  world.isUp = true;
  const auths = {
    "https://other.example": { auth: Buffer.from("x:y").toString("base64") },
    "example.com": { auth: Buffer.from("user:pass:word").toString("base64") },
  };
  world.secret = {
    metadata: { name: "registry" },
    type: "kubernetes.io/dockerconfigjson",
    data: { ".dockerconfigjson": Buffer.from(JSON.stringify({ auths })).toString("base64") },
  };
  await world.ensure({ imagePullSecrets: [{ name: "registry" }] });
  assert.deepEqual([world.auth?.username, world.auth?.password], ["user", "pass:word"]);
});

test("image names: InvalidImageName for what is no reference", () => {
  for (const name of [
    "busybox",
    "a/b:1",
    `localhost:5000/x@sha256:${"0".repeat(64)}`,
    "x.io/a__b",
  ]) {
    assert.ok(isImageName(name), name);
  }
  for (const name of ["", "Upper", "a b", "a:", ":x", "a//b"]) assert.ok(!isImageName(name), name);
});

function worldOf() {
  const clock = new VirtualClock(0);
  const world = {
    clock,
    isUp: false,
    secret: undefined as Secret | undefined,
    auth: undefined as AuthConfig | undefined,
    ensure: (spec: Partial<Pod["spec"]>) => {
      const pod: Pod = {
        metadata: { name: "pod", namespace: "default", uid: "uid" },
        spec: { containers: [], ...spec },
        status: {},
      };
      const signal = new AbortController().signal;
      const image = "example.com/app";
      const note = () => undefined;
      return podImages.ensure({
        ...{ pod, image, pullPolicy: undefined, sandboxConfig: {}, signal, note },
      });
    },
  };
  const images: Pick<ImageService, "imageStatus" | "pullImage"> = {
    imageStatus: async () => ({ image: undefined, info: {} }),
    pullImage: async ({ auth }) => {
      world.auth = auth;
      if (!world.isUp) throw new Error("connection refused");
      return { imageRef: "sha256:1" };
    },
  };
  const podImages = new PodImages({
    images,
    clock,
    records: {
      mustPull: async () => false,
      begin: async () => undefined,
      succeed: async () => undefined,
      fail: async () => undefined,
    },
    slots: new PullSlots(1),
    secret: async () => world.secret,
  });
  return world;
}
