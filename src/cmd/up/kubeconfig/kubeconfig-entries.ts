/**
 * The entries of clusters in a kubeconfig file of the user: a cluster, a user and a context of one name.
 * The cluster carries the data directory in an extension, by which it is found again: entries that
 * something else made are never changed or removed. The extension also names the context that was current
 * before, which is current again when the entries go.
 */

import { isDeepStrictEqual } from "node:util";
import { dump, load } from "js-yaml";

export interface ClusterEntry {
  /** The name that is wanted; another is taken where it belongs to something else. */
  readonly name: string;
  readonly dataDir: string;
  readonly cluster: Fields;
  readonly user: Fields;
}

export type Edit =
  | { readonly ok: true; readonly text: string; readonly context: string }
  | { readonly ok: false; readonly why: string };

type Fields = Readonly<Record<string, unknown>>;
type Named = Fields & { readonly name: string };

const EXTENSION = "k8ts";
const NAMES_MAX = 100;
const LISTS = ["clusters", "contexts", "users"] as const;

/** `text` is undefined if there is no file. A context that is new becomes the current one. */
export function withCluster(text: string | undefined, entry: ClusterEntry): Edit {
  const config = parse(text ?? "");
  if (typeof config === "string") return { ok: false, why: config };
  const own = ownName(config, entry.dataDir);
  const name = own ?? freeName(config, entry.name);
  if (name === undefined) return { ok: false, why: `there are too many names like ${entry.name}` };
  const previousContext =
    own === undefined ? config["current-context"] : extensionOf(config, own).previousContext;
  const extension = {
    dataDir: entry.dataDir,
    ...(typeof previousContext === "string" && previousContext !== "" ? { previousContext } : {}),
  };
  const extensions = [{ name: EXTENSION, extension }];
  const next: Fields = {
    apiVersion: "v1",
    kind: "Config",
    ...config,
    clusters: replaced(config.clusters, { name, cluster: { ...entry.cluster, extensions } }),
    contexts:
      own === undefined || !has(config.contexts, own)
        ? replaced(config.contexts, { name, context: { cluster: name, user: name } })
        : config.contexts,
    users: replaced(config.users, { name, user: entry.user }),
    ...(own === undefined || !config["current-context"] ? { "current-context": name } : {}),
  };
  return format(text ?? "", config, next, name);
}

/** The text without the entries of this data directory; the same text if there are none. */
export function withoutCluster(text: string, dataDir: string): Edit {
  const config = parse(text);
  if (typeof config === "string") return { ok: false, why: config };
  const name = ownName(config, dataDir);
  if (name === undefined) return { ok: true, text, context: "" };
  const next: Record<string, unknown> = { ...config };
  for (const list of LISTS) next[list] = listOf(config[list]).filter((item) => item.name !== name);
  if (config["current-context"] === name) {
    const { previousContext } = extensionOf(config, name);
    const isThere = typeof previousContext === "string" && has(next.contexts, previousContext);
    next["current-context"] = isThere ? previousContext : "";
  }
  return format(text, config, next, name);
}

/** A sentence instead of the content if the file is not what it should be. */
function parse(text: string): Fields | string {
  let config: unknown;
  try {
    config = text.trim() === "" ? {} : load(text);
  } catch {
    return "it is not valid YAML";
  }
  if (config === null || config === undefined) return {};
  if (typeof config !== "object" || Array.isArray(config)) return "it is not a kubeconfig";
  const { kind = "Config" } = config as Fields;
  const listsAreLists = LISTS.every((list) => {
    const value = (config as Fields)[list] ?? [];
    return Array.isArray(value) && value.every((item) => typeof item?.name === "string");
  });
  return kind === "Config" && listsAreLists ? (config as Fields) : "it is not a kubeconfig";
}

/** Text is written only if reading it gives the same content. */
function format(before: string, old: Fields, next: Fields, context: string): Edit {
  if (isDeepStrictEqual(old, next)) return { ok: true, text: before, context };
  const text = dump(next, { lineWidth: -1 });
  if (!isDeepStrictEqual(load(text), next)) {
    return { ok: false, why: "it has content that cannot be written back unchanged" };
  }
  return { ok: true, text, context };
}

function ownName(config: Fields, dataDir: string): string | undefined {
  return listOf(config.clusters).find((item) => ownExtension(item).dataDir === dataDir)?.name;
}

function extensionOf(config: Fields, name: string): Fields {
  const cluster = listOf(config.clusters).find((item) => item.name === name);
  return cluster === undefined ? {} : ownExtension(cluster);
}

function ownExtension({ cluster }: Named): Fields {
  const { extensions } = (cluster ?? {}) as Fields;
  if (!Array.isArray(extensions)) return {};
  return extensions.find((extension) => extension?.name === EXTENSION)?.extension ?? {};
}

function freeName(config: Fields, wanted: string): string | undefined {
  const taken = new Set(LISTS.flatMap((list) => listOf(config[list]).map(({ name }) => name)));
  for (let number = 1; number <= NAMES_MAX; number++) {
    const name = number === 1 ? wanted : `${wanted}-${number}`;
    if (!taken.has(name)) return name;
  }
  return undefined;
}

function listOf(value: unknown): readonly Named[] {
  return (value ?? []) as readonly Named[];
}

function has(list: unknown, name: string): boolean {
  return listOf(list).some((item) => item.name === name);
}

function replaced(list: unknown, item: Named): readonly Named[] {
  const items = listOf(list);
  return has(items, item.name)
    ? items.map((other) => (other.name === item.name ? item : other))
    : [...items, item];
}
