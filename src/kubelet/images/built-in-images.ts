/**
 * Images that the kubelet makes itself when a pod asks for them, in place of a pull. They look as if
 * they were always present, and cost nothing until the first pod needs one.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { ImageService } from "#kubelet/cri/cri-client.ts";
import { containerdImages } from "./containerd-images.ts";
import { DEMO_IMAGE, writeDemoImage } from "./demo-image.ts";

/** Brings an image into the runtime. */
export type ImportImage = () => Promise<void>;

type Images = Pick<ImageService, "imageStatus" | "pullImage">;

/** The built-in images of a node whose containerd listens at `endpoint`. The signal ends imports. */
export function builtInImages(
  endpoint: string,
  workFolder: string,
  signal: AbortSignal,
): ReadonlyMap<string, ImportImage> {
  const importDemo: ImportImage = async () => {
    const file = join(workFolder, "demo.tar");
    await writeDemoImage(process.arch, file, workFolder, signal);
    await containerdImages(endpoint, workFolder).importFile(file, signal);
    await rm(file);
  };
  return new Map([[DEMO_IMAGE, importDemo]]);
}

/**
 * The same service, in which a built-in image is imported when its status is first asked for. An
 * import that fails leaves the image absent; the pull that follows imports it again and says why not.
 */
export function withBuiltInImages(
  images: Images,
  builtIn: ReadonlyMap<string, ImportImage>,
): Images {
  const importing = new Map<string, Promise<void>>();
  /** Pods that ask at the same time share one import. */
  const importOnce = (name: string, importImage: ImportImage): Promise<void> => {
    const running = importing.get(name) ?? importImage().finally(() => importing.delete(name));
    importing.set(name, running);
    return running;
  };
  return {
    imageStatus: async (request, options) => {
      const name = request.image?.image ?? "";
      const status = await images.imageStatus(request, options);
      const importImage = builtIn.get(name);
      if (importImage === undefined || status.image !== undefined) return status;
      await importOnce(name, importImage).catch(() => undefined);
      return images.imageStatus(request, options);
    },
    pullImage: async (request, options) => {
      const name = request.image?.image ?? "";
      const importImage = builtIn.get(name);
      if (importImage === undefined) return images.pullImage(request, options);
      const wanted = { image: { image: name } };
      const before = (await images.imageStatus(wanted, options)).image;
      if (before !== undefined) return { imageRef: before.id };
      await importOnce(name, importImage);
      const { image } = await images.imageStatus(wanted, options);
      if (image === undefined) throw new Error(`${name} is not there after its import`);
      return { imageRef: image.id };
    },
  };
}
