/** The log of a container, followed. Escapes for terminals are taken out; the last lines are kept. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { PodObject } from "../models/kube-object.ts";
import { plainText } from "../models/plain-text.ts";
import { openApi } from "../state/api.ts";
import { Problem } from "./problem.tsx";

const LINES_MAX = 5_000;
const TAIL_LINES = 500;
const LINE_LENGTH_MAX = 10_000;
const SHOW_EVERY_MS = 200;

export function LogsView({ pod }: { readonly pod: PodObject }) {
  const containers = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
  const [container, setContainer] = useState(pod.spec?.containers?.[0]?.name ?? "");
  const [isPrevious, setPrevious] = useState(false);
  const [search, setSearch] = useState("");
  const { lines, error } = useLog(pod, container, isPrevious);
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
          onChange={({ currentTarget }) => setContainer(currentTarget.value)}
        >
          {containers.map(({ name }) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
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
      <div class="log" role="log" aria-label={`Log of ${container}`}>
        <pre>{shown.join("\n")}</pre>
        <div ref={end} />
      </div>
    </>
  );
}

function useLog(pod: PodObject, container: string, isPrevious: boolean) {
  const [lines, setLines] = useState<readonly string[]>([]);
  const [error, setError] = useState<string | undefined>();
  const { namespace = "", name } = pod.metadata;
  useEffect(() => {
    const life = new AbortController();
    setLines([]);
    setError(undefined);
    const query = new URLSearchParams({ container, tailLines: String(TAIL_LINES) });
    if (isPrevious) query.set("previous", "true");
    else query.set("follow", "true");
    const path = `/api/v1/namespaces/${namespace}/pods/${name}/log?${query}`;
    readLog(path, setLines, life.signal).catch((reason: unknown) => {
      if (!life.signal.aborted) setError(reason instanceof Error ? reason.message : String(reason));
    });
    return () => life.abort();
  }, [namespace, name, container, isPrevious]);
  return { lines, error };
}

async function readLog(
  path: string,
  show: (lines: readonly string[]) => void,
  signal: AbortSignal,
): Promise<void> {
  const { body } = await openApi(path, { accept: "*/*", signal });
  if (body === null) return;
  let lines: string[] = [];
  let partial = "";
  let timer: ReturnType<typeof setTimeout> | undefined;
  const showNow = (): void => {
    timer = undefined;
    show([...lines]);
  };
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    const parts = (partial + value).split("\n");
    partial = (parts.pop() ?? "").slice(0, LINE_LENGTH_MAX);
    const added = parts.map((line) => plainText(line.slice(0, LINE_LENGTH_MAX)));
    lines = [...lines, ...added].slice(-LINES_MAX);
    timer ??= setTimeout(showNow, SHOW_EVERY_MS);
  }
  clearTimeout(timer);
  if (partial !== "") lines.push(plainText(partial));
  showNow();
}
