/**
 * An object of every kind that both servers serve: created by one server, read by both, labelled by
 * the other, read by both, deleted by the other, gone from both. Then the same with the servers swapped.
 */
import { isDeepStrictEqual } from "node:util";
import type { Kind } from "#api/kind.ts";
import { builtInKinds } from "#api/kinds/built-in-kinds.ts";
import { createRequest } from "#pki/certificate-request.ts";
import { newKey } from "#pki/key-pair.ts";
import { CERTIFICATE_REQUEST, exampleOf } from "../../test/apiserver/minimal-objects.ts";
import { openHttp1 } from "../load/http1-asker.ts";
import type { Requester } from "../load/load.ts";
import { askJson, type Compared, type Pair } from "./compared.ts";

const MERGE = "application/merge-patch+json";
/** Their servers write into them on their own. */
const OWN_WRITES: ReadonlySet<string> = new Set([
  "APIService",
  "CustomResourceDefinition",
  "FlowSchema",
  "PriorityLevelConfiguration",
]);

export async function* compareKinds(
  { ours, theirs }: Pair,
  progress: (text: string) => void,
): AsyncIterable<Compared> {
  using own = await openHttp1(ours.port, ours.identity);
  using other = await openHttp1(theirs.port, theirs.identity);
  const served = await servedBy(other);
  const kinds = builtInKinds.filter((kind) =>
    served.has(`${kind.apiVersion}/${kind.names.plural}`),
  );
  for (const [what, writer, reader, round] of [
    ["kinds written by kube-apiserver, read and changed by k8ts", other, own, 0],
    ["kinds written by k8ts, read and changed by kube-apiserver", own, other, 1],
  ] as const) {
    const differences: string[] = [];
    let count = 0;
    for (const kind of kinds) {
      const body = objectOf(kind, round);
      if (body === undefined) continue;
      count += 1;
      progress(`${what}: ${kind.apiVersion} ${kind.names.kind}`);
      const fault = await lifeOf(kind, body, writer, reader).catch((error: Error) => error.message);
      if (fault !== undefined) differences.push(`${kind.apiVersion} ${kind.names.kind}: ${fault}`);
    }
    yield { what, count, differences };
  }
}

/** Why the two servers do not show the same; undefined if they do. */
async function lifeOf(
  kind: Kind,
  body: { readonly metadata: { readonly name: string } },
  writer: Requester,
  reader: Requester,
): Promise<string | undefined> {
  const collection = collectionOf(kind);
  const path = `${collection}/${body.metadata.name}`;
  await askJson(writer, "POST", collection, body);
  const created = await difference(path, writer, reader);
  const labels = { metadata: { labels: { changed: "yes" } } };
  await askJson(reader, "PATCH", path, labels, MERGE);
  const changed = await difference(path, writer, reader);
  const grace = { gracePeriodSeconds: 0, propagationPolicy: "Background" };
  await askJson(reader, "DELETE", path, grace);
  if (created !== undefined) return `created: ${created}`;
  if (changed !== undefined) return `changed: ${changed}`;
  return await afterDelete(path, writer, reader);
}

/** What has finalizers stays, since no controller is there to remove them, and looks the same. */
async function afterDelete(
  path: string,
  writer: Requester,
  reader: Requester,
): Promise<string | undefined> {
  const left = await askJson(writer, "GET", path).catch((error: Error) => error.message);
  if (typeof left === "string") return left.startsWith("404") ? undefined : left;
  const { deletionTimestamp } = left.metadata as { deletionTimestamp?: string };
  if (deletionTimestamp === undefined) return "still there when deleted";
  const fault = await difference(path, writer, reader);
  return fault === undefined ? undefined : `deleted: ${fault}`;
}

async function difference(
  path: string,
  writer: Requester,
  reader: Requester,
): Promise<string | undefined> {
  const [a, b] = await Promise.all([askJson(writer, "GET", path), askJson(reader, "GET", path)]);
  if (isDeepStrictEqual(comparable(a), comparable(b))) return undefined;
  return `${JSON.stringify(comparable(a))} and ${JSON.stringify(comparable(b))}`;
}

/** Without what a server writes on its own between the two reads. */
function comparable(object: Record<string, unknown>): unknown {
  if (!OWN_WRITES.has(String(object.kind))) return object;
  const { status: _, metadata, ...rest } = object;
  const { resourceVersion: __, managedFields: ___, ...meta } = metadata as Record<string, unknown>;
  return { ...rest, metadata: meta };
}

/** `apps/v1/deployments`, of all resources that can be created. */
async function servedBy(asker: Requester): Promise<ReadonlySet<string>> {
  interface Resources {
    readonly groupVersion: string;
    readonly resources: readonly { readonly name: string; readonly verbs: readonly string[] }[];
  }
  interface Groups {
    readonly groups: readonly { readonly versions: readonly { readonly groupVersion: string }[] }[];
  }
  const { groups } = await askJson<Groups>(asker, "GET", "/apis");
  const paths = groups.flatMap(({ versions }) =>
    versions.map((one) => `/apis/${one.groupVersion}`),
  );
  const found = new Set<string>();
  for (const path of ["/api/v1", ...paths]) {
    const listed = await askJson<Resources>(asker, "GET", path);
    for (const { name, verbs } of listed.resources) {
      if (verbs.includes("create") && verbs.includes("get")) {
        found.add(`${listed.groupVersion}/${name}`);
      }
    }
  }
  return found;
}

function objectOf(kind: Kind, round: 0 | 1) {
  const { group, names, apiVersion } = kind;
  const resource = group === "" ? names.plural : `${names.plural}.${group}`;
  const example = exampleOf(resource);
  if (example === undefined) return undefined;
  const name = example.names[round];
  const rest = resource === CERTIFICATE_REQUEST ? certificateRequest() : example.of(name);
  return { apiVersion, kind: names.kind, metadata: { name }, ...rest };
}

function certificateRequest(): object {
  const pem = createRequest({ commonName: "someone" }, [], newKey().privateKey);
  const request = Buffer.from(pem).toString("base64");
  return { spec: { request, signerName: "example.com/signer", usages: ["client auth"] } };
}

function collectionOf({ apiVersion, scope, names }: Kind): string {
  const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  return `${root}${scope === "Namespaced" ? "/namespaces/default" : ""}/${names.plural}`;
}
