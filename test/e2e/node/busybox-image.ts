/** OCI archives made from Debian's busybox-static, for containerd's import. No registry is needed. */
import { createHash } from "node:crypto";
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mustRun } from "#host/run-program.ts";

const APPLETS =
  "sh ash cat echo env ls mkdir sleep true false test touch rm wget nc httpd id hostname date head tail tr kill ps stat mount grep sed printenv ip nslookup chmod dd find wc cut seq sync timeout";

export interface ImageOptions {
  readonly name: string;
  readonly command?: readonly string[];
  readonly user?: string;
}

/** Writes the archive to `file`. */
export async function writeBusyboxImage(file: string, options: ImageOptions): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), "k8ts-image-"));
  try {
    const root = join(work, "root");
    for (const dir of ["bin", "etc", "tmp", "proc", "sys", "dev", "var/run"]) {
      await mkdir(join(root, dir), { recursive: true });
    }
    await copyFile("/bin/busybox", join(root, "bin/busybox"));
    for (const applet of APPLETS.split(" ")) await symlink("busybox", join(root, "bin", applet));
    await writeFile(join(root, "etc/passwd"), "root:x:0:0:root:/:/bin/sh\nuser:x:1000:1000::/:\n");
    await writeFile(join(root, "etc/group"), "root:x:0:\nuser:x:1000:\n");
    await mustRun("chmod", ["1777", join(root, "tmp")]);
    const layer = join(work, "layer.tar");
    await mustRun("tar", ["-C", root, "--owner=0", "--group=0", "--mtime=@0", "-cf", layer, "."]);
    await packImage(work, layer, file, options);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function packImage(
  work: string,
  layer: string,
  file: string,
  { name, command = ["sh"], user = "" }: ImageOptions,
): Promise<void> {
  const oci = join(work, "oci");
  await mkdir(join(oci, "blobs/sha256"), { recursive: true });
  const { stdout } = { stdout: await mustRun("sha256sum", [layer]) };
  const layerDigest = stdout.slice(0, 64);
  await copyFile(layer, join(oci, "blobs/sha256", layerDigest));
  const size = Number((await mustRun("stat", ["-c", "%s", layer])).trim());
  const add = async (content: object): Promise<{ digest: string; size: number }> => {
    const text = JSON.stringify(content);
    const digest = createHash("sha256").update(text).digest("hex");
    await writeFile(join(oci, "blobs/sha256", digest), text);
    return { digest: `sha256:${digest}`, size: Buffer.byteLength(text) };
  };
  const config = await add({
    architecture: process.arch === "arm64" ? "arm64" : "amd64",
    os: "linux",
    config: { Cmd: command, Env: ["PATH=/bin"], ...(user === "" ? {} : { User: user }) },
    rootfs: { type: "layers", diff_ids: [`sha256:${layerDigest}`] },
  });
  const manifest = await add({
    schemaVersion: 2,
    mediaType: "application/vnd.oci.image.manifest.v1+json",
    config: { mediaType: "application/vnd.oci.image.config.v1+json", ...config },
    layers: [
      {
        mediaType: "application/vnd.oci.image.layer.v1.tar",
        digest: `sha256:${layerDigest}`,
        size,
      },
    ],
  });
  const index = {
    schemaVersion: 2,
    manifests: [
      {
        mediaType: "application/vnd.oci.image.manifest.v1+json",
        ...manifest,
        annotations: {
          "io.containerd.image.name": name,
          "org.opencontainers.image.ref.name": name,
        },
      },
    ],
  };
  await writeFile(join(oci, "index.json"), JSON.stringify(index));
  await writeFile(join(oci, "oci-layout"), `{"imageLayoutVersion":"1.0.0"}`);
  await mustRun("tar", ["-C", oci, "-cf", file, "."]);
}
