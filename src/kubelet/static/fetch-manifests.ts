/** Pods behind a URL: one Pod or a PodList, each as the text of a manifest. */
import { load } from "js-yaml";

const TIMEOUT_MS = 10_000;
const BYTES_MAX = 10 * 1024 * 1024;

export async function fetchManifests(
  url: string,
  header: Readonly<Record<string, readonly string[]>>,
  signal: AbortSignal | undefined,
): Promise<string[]> {
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const headers = Object.entries(header).flatMap(([name, values]) =>
    values.map((value): [string, string] => [name, value]),
  );
  const response = await fetch(url, {
    headers,
    signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
  });
  const text = await boundedText(response);
  if (response.status !== 200) throw new Error(`${url}: ${response.status} ${response.statusText}`);
  if (text === "") return [];
  const document: unknown = load(text);
  if (typeof document !== "object" || document === null) {
    throw new Error(`${url}: received '${text}', but couldn't parse as single or multiple pods`);
  }
  if ("kind" in document && document.kind === "PodList") {
    const items = "items" in document && Array.isArray(document.items) ? document.items : [];
    return items.map((item: unknown) =>
      JSON.stringify({ apiVersion: "v1", kind: "Pod", ...(item as object) }),
    );
  }
  return [text];
}

async function boundedText(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of response.body ?? []) {
    size += part.length;
    if (size > BYTES_MAX) throw new Error(`the answer is larger than ${BYTES_MAX} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}
