/** Objects that each server encrypts with the same keys, read by the other. */
import { openHttp1 } from "../load/http1-asker.ts";
import { askJson, type Compared, type Pair } from "./compared.ts";

const CASES = [
  {
    provider: "aescbc",
    path: "/api/v1/namespaces/default/secrets",
    body: { stringData: { a: "b" } },
  },
  {
    provider: "secretbox",
    path: "/api/v1/namespaces/default/configmaps",
    body: { data: { a: "b" } },
  },
  {
    provider: "aesgcm",
    path: "/apis/coordination.k8s.io/v1/namespaces/default/leases",
    body: { spec: { holderIdentity: "b" } },
  },
] as const;

export async function* compareEncrypted({ ours, theirs }: Pair): AsyncIterable<Compared> {
  using own = await openHttp1(ours.port, ours.identity);
  using other = await openHttp1(theirs.port, theirs.identity);
  for (const { provider, path, body } of CASES) {
    const differences: string[] = [];
    for (const [name, writer, reader] of [
      ["of-k8ts", own, other],
      ["of-upstream", other, own],
    ] as const) {
      const metadata = { name: `encrypted-${name}` };
      const made = await askJson(writer, "POST", path, { metadata, ...body });
      const read = await askJson(reader, "GET", `${path}/${metadata.name}`).catch(
        (error: Error) => error.message,
      );
      if (JSON.stringify(sorted(made)) !== JSON.stringify(sorted(read))) {
        differences.push(`${name}: ${JSON.stringify(read)}`);
      }
    }
    yield { what: `objects encrypted with ${provider}`, count: 2, differences };
  }
}

/** Keys in one order, at every depth. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]));
}
