import assert from "node:assert/strict";
import { test } from "vitest";
import type { ImageService } from "#kubelet/cri/cri-client.ts";
import type { CriImage } from "#kubelet/cri/image-methods.ts";
import { withBuiltInImages } from "./built-in-images.ts";

const NAME = "k8ts.local/demo:1";

test("built-in images: the status of an absent one imports it, once for several pods", async () => {
  const world = worldOf();
  const statuses = await Promise.all([1, 2, 3].map(() => world.statusOf(NAME)));
  assert.deepEqual(statuses, ["sha256:demo", "sha256:demo", "sha256:demo"]);
  assert.equal(world.imports, 1);
  assert.equal(await world.statusOf(NAME), "sha256:demo");
  assert.equal(world.imports, 1);
});

test("built-in images: a pull (imagePullPolicy Always) answers the imported image and asks no registry", async () => {
  const world = worldOf();
  assert.equal((await world.service.pullImage({ image: { image: NAME } })).imageRef, "sha256:demo");
  assert.deepEqual(world.pulled, []);
});

test("built-in images: an import that fails leaves the image absent, and the pull says why", async () => {
  const world = worldOf(new Error("busybox is not installed"));
  assert.equal(await world.statusOf(NAME), undefined);
  await assert.rejects(
    world.service.pullImage({ image: { image: NAME } }),
    /busybox is not installed/,
  );
});

test("built-in images: other images are pulled from their registry", async () => {
  const world = worldOf();
  assert.equal(await world.statusOf("example.com/app:1"), undefined);
  await world.service.pullImage({ image: { image: "example.com/app:1" } });
  assert.deepEqual([world.pulled, world.imports], [["example.com/app:1"], 0]);
});

function worldOf(fault?: Error) {
  const present = new Map<string, CriImage>();
  const pulled: string[] = [];
  const images: Pick<ImageService, "imageStatus" | "pullImage"> = {
    imageStatus: async ({ image }) => ({ image: present.get(image?.image ?? ""), info: {} }),
    pullImage: async ({ image }) => {
      pulled.push(image?.image ?? "");
      return { imageRef: "sha256:pulled" };
    },
  };
  const world = {
    imports: 0,
    pulled,
    service: withBuiltInImages(
      images,
      new Map([
        [
          NAME,
          async () => {
            world.imports += 1;
            await Promise.resolve();
            if (fault !== undefined) throw fault;
            present.set(NAME, { id: "sha256:demo" } as CriImage);
          },
        ],
      ]),
    ),
    statusOf: async (image: string): Promise<string | undefined> =>
      (await world.service.imageStatus({ image: { image } })).image?.id,
  };
  return world;
}
