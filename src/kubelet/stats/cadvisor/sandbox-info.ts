/** What runtimes tell of a sandbox beyond the protocol, in the answer to a verbose PodSandboxStatus. Pure. */

export interface SandboxInfo {
  /** Of its first process, as the runtime numbers it. */
  readonly pid: number | undefined;
  /** Of its pause container; "" if the runtime does not say. */
  readonly image: string;
}

/** containerd and CRI-O have one entry, `info`, with a JSON object. */
export function parseSandboxInfo(info: Readonly<Record<string, string>>): SandboxInfo {
  const { pid, image } = parsed(info.info ?? "");
  return {
    pid: typeof pid === "number" && pid > 0 ? pid : undefined,
    image: typeof image === "string" ? image : "",
  };
}

function parsed(text: string): { readonly pid?: unknown; readonly image?: unknown } {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}
