/**
 * The log of a container, or of all containers of a pod, followed. Escapes for terminals are taken out; the
 * last lines are kept.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import type { PodObject } from "../models/kube-object.ts";
import { plainText } from "../models/plain-text.ts";
import { openApi } from "../state/api.ts";
import { replaceQuery } from "../state/use-location.ts";
import { Problem } from "./problem.tsx";

const LINES_MAX = 5_000;
const TAIL_LINES = 500;
const LINE_LENGTH_MAX = 10_000;
const SHOW_EVERY_MS = 200;
/** No container has this name. */
const ALL = "*";

export function LogsView({ pod }: { readonly pod: PodObject }) {
  const { initContainers = [], containers: own = [], ephemeralContainers = [] } = pod.spec ?? {};
  const containers = [...initContainers, ...own, ...ephemeralContainers];
  const [container, setContainer] = useState(
    new URLSearchParams(location.search).get("container") ?? pod.spec?.containers?.[0]?.name ?? ALL,
  );
  const [isPrevious, setPrevious] = useState(false);
  const [search, setSearch] = useState("");
  const names = container === ALL ? containers.map(({ name }) => name) : [container];
  const { lines, error } = useLog(pod, names, isPrevious);
  const end = useRef<HTMLDivElement>(null);
  const [isFollowing, setFollowing] = useState(true);
  useEffect(() => {
    if (isFollowing) end.current?.scrollIntoView({ block: "nearest" });
  }, [lines, isFollowing]);
  const wanted = search.toLowerCase();
  const shown = wanted === "" ? lines : lines.filter((line) => line.toLowerCase().includes(wanted));
  return (
    <>
      <div class="tools">
        <select
          aria-label="Container"
          value={container}
          onChange={({ currentTarget: { value } }) => {
            setContainer(value);
            replaceQuery("container", value);
          }}
        >
          {containers.map(({ name }) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
          {containers.length > 1 && <option value={ALL}>all containers</option>}
        </select>
        <input
          type="search"
          aria-label="Search"
          placeholder="Search"
          value={search}
          onInput={({ currentTarget }) => setSearch(currentTarget.value)}
        />
        <label>
          <input type="checkbox" checked={isPrevious} onChange={() => setPrevious(!isPrevious)} />{" "}
          previous
        </label>
        <label>
          <input
            type="checkbox"
            checked={isFollowing}
            onChange={() => setFollowing(!isFollowing)}
          />{" "}
          follow
        </label>
      </div>
      <Problem text={error} />
      <div class="log" role="log" aria-label={`Log of ${names.join(", ")}`}>
        <pre>{shown.join("\n")}</pre>
        <div ref={end} />
      </div>
    </>
  );
}

function useLog(pod: PodObject, containers: readonly string[], isPrevious: boolean) {
  const [lines, setLines] = useState<readonly string[]>([]);
  const [error, setError] = useState<string | undefined>();
  const { namespace = "", name } = pod.metadata;
  useEffect(() => {
    const life = new AbortController();
    setLines([]);
    setError(undefined);
    const log = new ShownLines(setLines);
    for (const container of containers) {
      const query = new URLSearchParams({ container, tailLines: String(TAIL_LINES) });
      if (isPrevious) query.set("previous", "true");
      else query.set("follow", "true");
      const path = `/api/v1/namespaces/${namespace}/pods/${name}/log?${query}`;
      const prefix = containers.length > 1 ? `[${container}] ` : "";
      const add = (added: readonly string[]): void => log.add(added.map((line) => prefix + line));
      readLog(path, add, life.signal).catch((reason: unknown) => {
        if (life.signal.aborted) return;
        setError(prefix + (reason instanceof Error ? reason.message : String(reason)));
      });
    }
    return () => {
      life.abort();
      log.end();
    };
  }, [namespace, name, containers.join(), isPrevious]);
  return { lines, error };
}

/** The newest lines of all streams, shown a few times a second. */
class ShownLines {
  readonly #show: (lines: readonly string[]) => void;
  #lines: readonly string[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(show: (lines: readonly string[]) => void) {
    this.#show = show;
  }

  add(lines: readonly string[]): void {
    this.#lines = [...this.#lines, ...lines].slice(-LINES_MAX);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#show(this.#lines);
    }, SHOW_EVERY_MS);
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}

async function readLog(
  path: string,
  add: (lines: readonly string[]) => void,
  signal: AbortSignal,
): Promise<void> {
  const { body } = await openApi(path, { accept: "*/*", signal });
  if (body === null) return;
  let partial = "";
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    const parts = (partial + value).split("\n");
    partial = (parts.pop() ?? "").slice(0, LINE_LENGTH_MAX);
    add(parts.map((line) => plainText(line.slice(0, LINE_LENGTH_MAX))));
  }
  if (partial !== "") add([plainText(partial)]);
}
