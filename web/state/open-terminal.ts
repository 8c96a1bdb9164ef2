/** xterm.js connected with a container over a WebSocket with the subprotocol v5.channel.k8s.io. */
import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";
import { openSocket } from "./session.ts";

const CHANNELS = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 } as const;
const SCROLLBACK_LINES = 5_000;

/** Answers how to end it. `report` is called with what went wrong, and when the program has ended. */
export function openTerminal(
  element: HTMLElement,
  path: string,
  report: (problem: string) => void,
): () => void {
  const hasTerminal = path.includes("tty=true");
  const terminal = new Terminal({
    ...{ fontSize: 13, scrollback: SCROLLBACK_LINES, linkHandler: null },
    ...{ convertEol: !hasTerminal, screenReaderMode: true },
  });
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
    if (hasTerminal)
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
    if (channel === CHANNELS.error) report(endText(new TextDecoder().decode(rest)));
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

function endText(text: string): string {
  const { message, status } = JSON.parse(text) as {
    readonly message?: string;
    readonly status?: string;
  };
  return status === "Success" ? "The program has ended." : (message ?? "The program failed.");
}
