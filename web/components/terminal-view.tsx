/** A terminal in a container: exec over a WebSocket with the subprotocol v5.channel.k8s.io. */
import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";
import { useEffect, useRef, useState } from "preact/hooks";
import { openSocket } from "../state/session.ts";
import { Problem } from "./problem.tsx";

const CHANNELS = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 } as const;
/** bash where there is one. */
const SHELL = ["sh", "-c", "command -v bash >/dev/null 2>&1 && exec bash || exec sh"];

export function TerminalView(props: {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
}) {
  const { namespace, pod, container } = props;
  const host = useRef<HTMLDivElement>(null);
  const [problem, setProblem] = useState<string | undefined>();
  useEffect(() => {
    const element = host.current;
    if (element === null) return;
    return openTerminal(element, execPath(namespace, pod, container), setProblem);
  }, [namespace, pod, container]);
  return (
    <>
      <link rel="stylesheet" href="/xterm.css" />
      <h1>
        {pod} <small>{container}</small>
      </h1>
      <Problem text={problem} />
      <div ref={host} class="terminal" />
    </>
  );
}

function openTerminal(
  element: HTMLElement,
  path: string,
  report: (problem: string) => void,
): () => void {
  const terminal = new Terminal({ fontSize: 13, scrollback: 5_000, linkHandler: null });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  terminal.open(element);
  const socket = openSocket(`/k8s${path}`, "v5.channel.k8s.io");
  socket.binaryType = "arraybuffer";
  const send = (channel: number, text: string): void => {
    if (socket.readyState !== WebSocket.OPEN) return;
    const data = new TextEncoder().encode(text);
    const message = new Uint8Array(data.length + 1);
    message[0] = channel;
    message.set(data, 1);
    socket.send(message);
  };
  const resize = (): void => {
    fit.fit();
    send(CHANNELS.resize, JSON.stringify({ Width: terminal.cols, Height: terminal.rows }));
  };
  terminal.onData((text) => send(CHANNELS.stdin, text));
  addEventListener("resize", resize);
  socket.onopen = () => {
    resize();
    terminal.focus();
  };
  socket.onmessage = ({ data }) => {
    const bytes = new Uint8Array(data as ArrayBuffer);
    const [channel] = bytes;
    const rest = bytes.subarray(1);
    if (channel === CHANNELS.stdout || channel === CHANNELS.stderr) terminal.write(rest);
    if (channel === CHANNELS.error) {
      const { message, status } = JSON.parse(new TextDecoder().decode(rest)) as {
        readonly message?: string;
        readonly status?: string;
      };
      report(status === "Success" ? "The shell has ended." : (message ?? "The shell failed."));
    }
  };
  socket.onclose = ({ wasClean }) => {
    if (!wasClean) report("The connection ended, or the server refused it.");
  };
  return () => {
    removeEventListener("resize", resize);
    socket.close();
    terminal.dispose();
  };
}

function execPath(namespace: string, pod: string, container: string): string {
  const query = new URLSearchParams({ stdin: "true", stdout: "true", tty: "true" });
  if (container !== "") query.set("container", container);
  for (const word of SHELL) query.append("command", word);
  const path = [namespace, pod].map(encodeURIComponent);
  return `/api/v1/namespaces/${path[0]}/pods/${path[1]}/exec?${query}`;
}
