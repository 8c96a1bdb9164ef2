/** A terminal in a container: a shell, the container's own process, or a debug container beside it. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { PodObject } from "../models/kube-object.ts";
import {
  attachPath,
  debugName,
  debugPatch,
  ephemeralState,
  execPath,
  type PodName,
  podPath,
  type TerminalMode,
} from "../models/terminal-target.ts";
import { callApi } from "../state/api.ts";
import { openTerminal } from "../state/open-terminal.ts";
import { useObjects } from "../state/use-live.ts";
import { Problem } from "./problem.tsx";

export interface TerminalProps extends PodName {
  readonly container: string;
  readonly mode: TerminalMode;
}

export function TerminalView(props: TerminalProps) {
  const { pod, container, mode } = props;
  return (
    <>
      <link rel="stylesheet" href="/xterm.css" />
      <h1>
        {pod} <small>{mode === "debug" ? `debug ${container}` : container}</small>
      </h1>
      {mode === "exec" && <Screen path={execPath(props, container)} />}
      {mode === "attach" && <Attached name={props} container={container} />}
      {mode === "debug" && <Debug name={props} target={container} />}
    </>
  );
}

function Screen({ path }: { readonly path: string }) {
  const host = useRef<HTMLDivElement>(null);
  const [problem, setProblem] = useState<string | undefined>();
  useEffect(() => {
    const element = host.current;
    return element === null ? undefined : openTerminal(element, path, setProblem);
  }, [path]);
  return (
    <>
      <Problem text={problem} />
      <div ref={host} class="terminal" />
    </>
  );
}

function Attached({ name, container }: { readonly name: PodName; readonly container: string }) {
  const { pod, error } = usePod(name);
  if (pod === undefined) return <Problem text={error} />;
  return <Screen path={attachPath(name, pod, container)} />;
}

/** An ephemeral container stays in the pod; the page attaches to it when it runs. */
function Debug({ name, target }: { readonly name: PodName; readonly target: string }) {
  const { pod, error } = usePod(name);
  const [image, setImage] = useState("busybox");
  const [started, setStarted] = useState<string | undefined>();
  const [problem, setProblem] = useState<string | undefined>();
  if (pod === undefined) return <Problem text={error} />;
  const start = async (): Promise<void> => {
    const container = debugName(pod);
    try {
      await callApi(`${podPath(name)}/ephemeralcontainers`, {
        method: "PATCH",
        contentType: "application/strategic-merge-patch+json",
        body: debugPatch(container, image.trim(), target),
      });
      setStarted(container);
    } catch (reason) {
      setProblem(reason instanceof Error ? reason.message : String(reason));
    }
  };
  if (started === undefined) {
    return (
      <form
        class="tools"
        onSubmit={(event) => {
          event.preventDefault();
          void start();
        }}
      >
        <label for="image">Image</label>
        <input
          id="image"
          required
          value={image}
          onInput={({ currentTarget }) => setImage(currentTarget.value)}
        />
        <button type="submit" class="primary">
          Add a debug container
        </button>
        <Problem text={problem} />
        <p>
          It shares the processes of {target || "the pod"} and its network. It cannot be removed
          from the pod again.
        </p>
      </form>
    );
  }
  const { state, reason } = ephemeralState(pod, started);
  if (state === "running") return <Screen path={attachPath(name, pod, started)} />;
  return (
    <p role="status">
      {started} {state === "ended" ? "has ended" : "is starting"} {reason}
    </p>
  );
}

function usePod({ namespace, pod: name }: PodName) {
  const { objects, isReady, error } = useObjects<PodObject>({
    path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`,
    fieldSelector: `metadata.name=${name}`,
  });
  const missing = isReady && objects.length === 0 ? "This pod does not exist." : undefined;
  return { pod: objects[0], error: error ?? missing };
}
