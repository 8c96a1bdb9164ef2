/** Finds the runtime's address for exec, attach and port-forward: what CRI answers to such a call. */
import type { Pod } from "#api/generated/core.v1.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { messageOf } from "#lib/caught.ts";
import { type KubeletView, podNamed } from "../kubelet-view.ts";
import { statusOf } from "../log/log-container.ts";

export type StreamUrl =
  | { readonly ok: true; readonly url: string }
  | { readonly ok: false; readonly code: number; readonly message: string };

const SANDBOX_READY = 0;
const POD_UID = "io.kubernetes.pod.uid";

/** `parts`: the path behind /exec, /attach or /portForward. A uid may stand before the container. */
export async function streamUrl(
  view: KubeletView,
  action: string,
  parts: readonly string[],
  query: URLSearchParams,
): Promise<StreamUrl> {
  const [namespace = "", name = "", ...rest] = parts;
  const pod = podNamed(view, namespace, name);
  if (pod === undefined) return refused(404, "pod does not exist");
  const takesContainer = action !== "portForward";
  const uid = rest.length > (takesContainer ? 1 : 0) ? rest[0] : undefined;
  if (uid !== undefined && uid !== pod.metadata.uid) return refused(404, "pod does not exist");
  try {
    if (!takesContainer) return await portForwardUrl(view, pod);
    return await containerUrl(view, action, pod, rest.at(-1) ?? "", query);
  } catch (error) {
    return refused(500, messageOf(error));
  }
}

async function containerUrl(
  { cri }: KubeletView,
  action: string,
  pod: Pod,
  container: string,
  query: URLSearchParams,
): Promise<StreamUrl> {
  const status = statusOf(pod, container);
  const containerId = (status?.containerID ?? "").replace(/^[^:]+:\/\//, "");
  if (status?.state?.running === undefined || containerId === "") {
    return refused(500, `container not found (${goQuote(container)})`);
  }
  const isOn = (name: string): boolean => query.get(name) === "1";
  const wanted = {
    stdin: isOn("input"),
    stdout: isOn("output"),
    tty: isOn("tty"),
    stderr: isOn("error") && !isOn("tty"), // a terminal has one stream for both
  };
  if (!wanted.stdin && !wanted.stdout && !wanted.stderr) {
    return refused(400, "you must specify at least 1 of stdin, stdout, stderr");
  }
  if (action === "attach") {
    const tty = isTerminal(pod, container);
    const request = { containerId, ...wanted, tty, stderr: wanted.stderr && !tty };
    return { ok: true, url: (await cri.runtime.attach(request)).url };
  }
  const { url } = await cri.runtime.exec({ containerId, cmd: query.getAll("command"), ...wanted });
  return { ok: true, url };
}

/** Attaching goes by what the container was started with. */
function isTerminal({ spec }: Pod, name: string): boolean {
  const { containers, initContainers = [], ephemeralContainers = [] } = spec ?? {};
  const all = [...(containers ?? []), ...initContainers, ...ephemeralContainers];
  return all.find((container) => container.name === name)?.tty === true;
}

async function portForwardUrl({ cri }: KubeletView, { metadata }: Pod): Promise<StreamUrl> {
  const filter = { labelSelector: { [POD_UID]: metadata.uid ?? "" } };
  const { items } = await cri.runtime.listPodSandbox({ filter });
  const ready = items.find(({ state }) => state === SANDBOX_READY);
  if (ready === undefined) return refused(500, `failed to find sandbox for pod ${metadata.name}`);
  const { url } = await cri.runtime.portForward({ podSandboxId: ready.id, port: [] });
  return { ok: true, url };
}

function refused(code: number, message: string): StreamUrl {
  return { ok: false, code, message };
}
