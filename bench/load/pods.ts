/** The pods that the API server's benchmark makes, reads and changes, and how it asks for them. */
import type { Ask, Requester } from "./load.ts";

export const PODS = "/api/v1/namespaces/default/pods";
export const LISTED = 1_000;
export const ONE_POD = `${PODS}/${listedName(0)}`;
const JSON_TYPE = "application/json";
const MERGE_TYPE = "application/merge-patch+json";

export function get(path: string): Ask {
  return { method: "GET", path };
}

export function post(path: string, body: string): Ask {
  return { method: "POST", path, contentType: JSON_TYPE, body };
}

export function labelPatch(index: number, value: string): Ask {
  const body = `{"metadata":{"labels":{"n":"${value}"}}}`;
  return { method: "PATCH", path: `${PODS}/${listedName(index)}`, contentType: MERGE_TYPE, body };
}

/** A server-side apply of one label. */
export function applyOf(index: number, value: string): Ask {
  const name = listedName(index);
  const metadata = { name, labels: { applied: value } };
  return {
    method: "PATCH",
    path: `${PODS}/${name}?fieldManager=bench&force=true`,
    contentType: "application/apply-patch+yaml",
    body: JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata }),
  };
}

export function listedName(index: number): string {
  return `listed-${String(index).padStart(4, "0")}`;
}

/** Creates `count` pods over these connections, and what they need; some may be there already. */
export async function makePods(
  askers: readonly Requester[],
  count: number,
  nameOf: (index: number) => string,
): Promise<void> {
  const account = { metadata: { name: "default" } };
  const accounts = "/api/v1/namespaces/default/serviceaccounts";
  await askers[0]!.ask(post(accounts, JSON.stringify(account))).catch(unlessExists);
  let made = 0;
  const maker = async (asker: Requester): Promise<void> => {
    while (made < count) await asker.ask(post(PODS, podNamed(nameOf(made++)))).catch(unlessExists);
  };
  await Promise.all(askers.map(maker));
}

function unlessExists(error: Error): void {
  if (!error.message.startsWith("409")) throw error;
}

/** About 2,000 bytes when it is served. */
const [POD_BEFORE, POD_AFTER] = JSON.stringify({
  kind: "Pod",
  apiVersion: "v1",
  metadata: { name: "NAME", labels: { app: "web", tier: "frontend" } },
  spec: {
    containers: [
      {
        name: "web",
        image: "registry.example.com/shop/web:1.25.3",
        resources: { requests: { cpu: "100m", memory: "128Mi" } },
      },
    ],
  },
}).split("NAME") as [string, string];

export function podNamed(podName: string): string {
  return POD_BEFORE + podName + POD_AFTER;
}
