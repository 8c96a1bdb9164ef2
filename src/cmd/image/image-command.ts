/** `k8ts image`: images of the cluster's nodes without a registry. */
import { mkdir, mkdtemp, stat } from "node:fs/promises";
import { arch } from "node:os";
import { join, resolve } from "node:path";
import { Command as Parser } from "commander";
import { removeTree } from "#host/files.ts";
import { createCriClient } from "#kubelet/cri/cri-client.ts";
import type { CriImage } from "#kubelet/cri/image-methods.ts";
import { fullImageName, isImageName } from "#kubelet/decide/inputs/image-name.ts";
import { containerdImages } from "#kubelet/images/containerd-images.ts";
import {
  type ImageConfig,
  ociArchitecture,
  writeImageArchive,
} from "#kubelet/images/image-archive.ts";
import type { Command } from "../command.ts";
import { FlagError, parseArguments, refuseFlags } from "../flags/parse-flags.ts";
import { refuseSubcommand } from "../flags/unknown-subcommand.ts";
import {
  addRuntimeFlags,
  type ImageRuntime,
  type RuntimeFlags,
  runtimesOf,
} from "./image-flags.ts";
import { imageTable } from "./image-table.ts";

const USAGE = `Usage: k8ts image COMMAND [flags]

Commands:
  import FILE|DIR|-        import images: an archive of docker save or of the OCI layout, or its folder
  ls                       list the images of the nodes
  rm IMAGE…                remove images
  save IMAGE… -o FILE      write images to an OCI archive
  build DIR -t NAME        make an image from the files of a folder

Examples:
  k8ts image build ./app -t shop/app:1
  docker save shop/web:2 | k8ts image import -
  k8ts image ls --output json

\`k8ts image COMMAND --help\` explains a command.
`;

type Run = (args: readonly string[], signal: AbortSignal) => Promise<void>;

const SUB_COMMANDS: Readonly<Record<string, Run>> = {
  import: importImages,
  ls: listImages,
  rm: removeImages,
  save: saveImages,
  build: buildImage,
};

export const imageCommand: Command = {
  name: "image",
  summary: "import, list, remove, save and build images",
  run: async ([name = "--help", ...args], signal) => {
    if (name === "--help" || name === "-h" || name === "help") {
      process.stdout.write(USAGE);
      return 0;
    }
    const run = Object.hasOwn(SUB_COMMANDS, name) ? SUB_COMMANDS[name] : undefined;
    if (run === undefined) {
      return refuseSubcommand("image", name, Object.keys(SUB_COMMANDS), USAGE);
    }
    try {
      await run(args, signal);
      return 0;
    } catch (error) {
      return refuseFlags(error);
    }
  },
};

async function importImages(args: readonly string[], signal: AbortSignal): Promise<void> {
  const { flags, operands } = parse("import", "<file>", args);
  const [source = "", ...more] = operands;
  if (source === "" || more.length > 0)
    throw new FlagError("image import needs one FILE, DIR or -");
  for (const runtime of await runtimesOf(flags)) {
    say(`importing into ${runtime.name}`);
    const names = await importInto(runtime, source, signal);
    for (const name of names) process.stdout.write(`${name}\n`);
  }
}

async function importInto(
  { endpoint, workFolder }: ImageRuntime,
  source: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const images = containerdImages(endpoint, workFolder);
  if (source === "-") return images.importStream(process.stdin, signal);
  const path = resolve(source);
  const isFolder = (await stat(path)).isDirectory();
  return isFolder ? images.importFolder(path, signal) : images.importFile(path, signal);
}

async function listImages(args: readonly string[]): Promise<void> {
  const { flags, options } = parse("ls", "", args, (parser) =>
    parser.option("--output <format>", "table or json", "table"),
  );
  const found: { readonly node: string; readonly image: CriImage }[] = [];
  for (const { name, endpoint } of await runtimesOf(flags)) {
    using cri = createCriClient({ endpoint });
    const { images } = await cri.images.listImages({});
    found.push(...images.map((image) => ({ node: name, image })));
  }
  if (options.output === "json") {
    const rows = found.map(({ node, image: { id, repoTags, repoDigests, size } }) => ({
      ...{ node, id, repoTags, repoDigests, size },
    }));
    process.stdout.write(`${JSON.stringify(rows, undefined, 2)}\n`);
  } else process.stdout.write(imageTable(found));
}

async function removeImages(args: readonly string[]): Promise<void> {
  const { flags, operands } = parse("rm", "<image…>", args);
  if (operands.length === 0) throw new FlagError("image rm needs the name of an image");
  for (const { name, endpoint } of await runtimesOf(flags)) {
    using cri = createCriClient({ endpoint });
    for (const image of operands) {
      const { image: present } = await cri.images.imageStatus({ image: { image } });
      if (present === undefined) {
        say(`${image} is not on ${name}`);
        continue;
      }
      await cri.images.removeImage({ image: { image } });
      process.stdout.write(`removed ${image} from ${name}\n`);
    }
  }
}

async function saveImages(args: readonly string[], signal: AbortSignal): Promise<void> {
  const { flags, operands, options } = parse("save", "<image…>", args, (parser) =>
    parser.requiredOption("-o, --output <file>", "the archive to write"),
  );
  if (operands.length === 0) throw new FlagError("image save needs the name of an image");
  const [runtime] = await runtimesOf(flags);
  if (runtime === undefined) return;
  const names = await Promise.all(operands.map((image) => fullName(runtime, image)));
  const file = resolve(String(options.output));
  say(`writing ${names.join(", ")} to ${file}`);
  await containerdImages(runtime.endpoint, runtime.workFolder).export(names, file, signal);
}

/** The name under which the runtime knows an image: `busybox` is docker.io/library/busybox:latest. */
async function fullName({ name, endpoint }: ImageRuntime, image: string): Promise<string> {
  using cri = createCriClient({ endpoint });
  const { image: present } = await cri.images.imageStatus({ image: { image } });
  const tags = present?.repoTags ?? [];
  // An image may have several names: the one that was asked for, if it is a name and not an id.
  const known =
    tags.find((tag) => tag === fullImageName(image)) ?? tags[0] ?? present?.repoDigests[0];
  if (known === undefined) throw new FlagError(`${image} is not on ${name}`);
  return known;
}

async function buildImage(args: readonly string[], signal: AbortSignal): Promise<void> {
  const { flags, operands, options } = parse("build", "<dir>", args, (parser) =>
    parser
      .requiredOption("-t, --tag <name>", "the image's name: k8ts.local/demo:1")
      .option("--base <image>", "an image of the node whose layers lie below")
      .option("--entrypoint <words>", "program and arguments, by spaces or as a JSON list")
      .option("--cmd <words>", "default arguments, by spaces or as a JSON list")
      .option("--env <NAME=value>", "an environment variable; may be repeated", collect, [])
      .option("--workdir <dir>", "the working directory")
      .option("--user <user>", "the user that runs the program")
      .option("-o, --output <file>", "write the archive instead of importing it"),
  );
  const [folder = "", ...more] = operands;
  if (folder === "" || more.length > 0) throw new FlagError("image build needs one DIR");
  const tag = String(options.tag);
  if (!isImageName(tag)) throw new FlagError(`--tag: ${tag} is not the name of an image`);
  const config = imageConfig(options);
  const runtimes = options.output === undefined ? await runtimesOf(flags) : [];
  const work = join(flags.data, "work");
  await mkdir(work, { recursive: true });
  const drafts = await mkdtemp(join(work, "build-"));
  try {
    const base = await exportBase(options.base, flags, join(drafts, "base.tar"), signal);
    const file =
      options.output === undefined ? join(drafts, "image.tar") : resolve(String(options.output));
    say(`packing ${folder}`);
    const source = { name: fullImageName(tag), folder: resolve(folder), config };
    const platform = { architecture: ociArchitecture(arch()) };
    await writeImageArchive({ ...source, ...platform, ...base }, file, drafts, signal);
    for (const { name, endpoint, workFolder } of runtimes) {
      say(`importing into ${name}`);
      await containerdImages(endpoint, workFolder).importFile(file, signal);
    }
    process.stdout.write(`${tag}\n`);
  } finally {
    await removeTree(drafts);
  }
}

async function exportBase(
  base: unknown,
  flags: RuntimeFlags,
  file: string,
  signal: AbortSignal,
): Promise<{ readonly base?: string }> {
  if (base === undefined) return {};
  const [runtime] = await runtimesOf(flags);
  if (runtime === undefined) return {};
  const name = await fullName(runtime, String(base));
  say(`reading the base ${name}`);
  await containerdImages(runtime.endpoint, runtime.workFolder).export([name], file, signal);
  return { base: file };
}

function imageConfig(options: Readonly<Record<string, unknown>>): ImageConfig {
  const { entrypoint, cmd, env, workdir, user } = options;
  return {
    ...(entrypoint === undefined ? {} : { Entrypoint: wordsOf(String(entrypoint)) }),
    ...(cmd === undefined ? {} : { Cmd: wordsOf(String(cmd)) }),
    ...(Array.isArray(env) && env.length > 0 ? { Env: env.map(String) } : {}),
    ...(workdir === undefined ? {} : { WorkingDir: String(workdir) }),
    ...(user === undefined ? {} : { User: String(user) }),
  };
}

/** `["sh", "-c", "a b"]` or `sh -c true`. */
function wordsOf(text: string): readonly string[] {
  if (!text.startsWith("[")) return text.split(/\s+/).filter((word) => word !== "");
  const list: unknown = JSON.parse(text);
  if (!Array.isArray(list)) throw new FlagError(`not a list of words: ${text}`);
  return list.map(String);
}

function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
}

interface Parsed {
  readonly flags: RuntimeFlags;
  readonly operands: readonly string[];
  readonly options: Readonly<Record<string, unknown>>;
}

function parse(
  name: string,
  operand: string,
  args: readonly string[],
  more: (parser: Parser) => Parser = (parser) => parser,
): Parsed {
  const parser = more(addRuntimeFlags(new Parser(`k8ts image ${name}`)))
    .usage(`${operand} [flags]`)
    .allowExcessArguments();
  parseArguments(parser, args);
  return { flags: parser.opts(), operands: parser.args, options: parser.opts() };
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
