/**
 * What a machine that joins learns of a cluster that it does not trust yet: the ConfigMap `cluster-info`,
 * signed with the token and checked against pins of the authority's key.
 *
 * 1. It is fetched without checking the server's certificate.
 * 2. The signature made with the token's secret must fit: only who knows the token can have made it.
 * 3. One of the authorities inside must have a pinned key, unless pins are given up explicitly.
 * 4. It is fetched again, now trusting that authority only, and must be the same.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { request } from "node:https";
import { load } from "js-yaml";
import { messageOf } from "#lib/caught.ts";
import type { Clock } from "#lib/time/clock.ts";
import { pinOfAuthority } from "./authority-pin.ts";
import type { BootstrapToken } from "./bootstrap-token.ts";

const PATH = "/api/v1/namespaces/kube-public/configmaps/cluster-info";
const BYTES_MAX = 1 << 20;
const TIMEOUT_MS = 10_000;
/** As long as another controller manager may take to become the leader, which signs. */
const SIGNATURE_WAIT_MS = 30_000;
const ASK_AGAIN_MS = 250;

export interface ClusterInfo {
  /** `https://192.0.2.1:6443` */
  readonly server: string;
  readonly authorityPem: string;
}

export interface Discovery {
  /** `https://192.0.2.1:6443` */
  readonly server: string;
  readonly token: BootstrapToken;
  /** Empty: the authority is believed because the token signed for it. */
  readonly pins: readonly string[];
}

/** The cluster cannot be trusted, or does not answer; the message says which. */
export class DiscoveryError extends Error {
  override readonly name = "DiscoveryError";
}

export async function discoverCluster(
  { server, token, pins }: Discovery,
  clock: Clock,
  signal: AbortSignal,
): Promise<ClusterInfo> {
  const signature = `jws-kubeconfig-${token.id}`;
  let untrusted = await fetchInfo(server, undefined, signal);
  // A token that was just made is signed for a moment later.
  const endMs = clock.elapsedMs() + SIGNATURE_WAIT_MS;
  while (!Object.hasOwn(untrusted, signature) && clock.elapsedMs() < endMs) {
    await clock.sleep(ASK_AGAIN_MS, signal);
    untrusted = await fetchInfo(server, undefined, signal);
  }
  const info = verifiedInfo(untrusted, token, pins);
  const trusted = await fetchInfo(server, info.authorityPem, signal);
  if (trusted.kubeconfig !== untrusted.kubeconfig) {
    throw new DiscoveryError("cluster-info changed while it was read with a checked certificate");
  }
  return info;
}

/** The data of the ConfigMap. */
export type ClusterInfoData = Readonly<Record<string, string>>;

export function verifiedInfo(
  data: ClusterInfoData,
  { id, secret }: BootstrapToken,
  pins: readonly string[],
): ClusterInfo {
  const { kubeconfig } = data;
  if (kubeconfig === undefined) {
    throw new DiscoveryError("the cluster-info ConfigMap has no kubeconfig");
  }
  const signature = Object.hasOwn(data, `jws-kubeconfig-${id}`) ? data[`jws-kubeconfig-${id}`] : "";
  if (signature === undefined || signature === "") {
    throw new DiscoveryError(
      `token id ${JSON.stringify(id)} is invalid for this cluster or it has expired`,
    );
  }
  if (!isSignedBy(signature, kubeconfig, secret)) {
    throw new DiscoveryError("the signature of cluster-info does not fit the token");
  }
  const info = clusterOf(kubeconfig);
  if (pins.length > 0 && !pins.includes(pinOfAuthority(info.authorityPem))) {
    throw new DiscoveryError(
      "none of the public keys of the cluster's authority is pinned by --ca-cert-hash",
    );
  }
  return info;
}

/** A detached JSON web signature: header, nothing, HMAC with SHA-256. */
function isSignedBy(signature: string, content: string, secret: string): boolean {
  const [header = "", empty, mac = ""] = signature.split(".");
  if (empty !== "") return false;
  const text = `${header}.${Buffer.from(content).toString("base64url")}`;
  const wanted = createHmac("sha256", secret).update(text).digest();
  const given = Buffer.from(mac, "base64url");
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

interface InfoKubeconfig {
  readonly clusters?: readonly { readonly cluster?: Readonly<Record<string, unknown>> }[];
}

/** The first cluster of a kubeconfig that describes it. */
export function clusterOf(kubeconfig: string): ClusterInfo {
  const { clusters = [] } = (load(kubeconfig) ?? {}) as InfoKubeconfig;
  const cluster = clusters[0]?.cluster ?? {};
  const { server, "certificate-authority-data": authority } = cluster;
  if (typeof server !== "string" || typeof authority !== "string") {
    throw new DiscoveryError("the kubeconfig of cluster-info has no server or no authority");
  }
  return { server, authorityPem: Buffer.from(authority, "base64").toString() };
}

async function fetchInfo(
  server: string,
  authorityPem: string | undefined,
  signal: AbortSignal,
): Promise<ClusterInfoData> {
  const trust = authorityPem === undefined ? { rejectUnauthorized: false } : { ca: authorityPem };
  const limited = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  const text = await new Promise<string>((resolve, reject) => {
    const outgoing = request(`${server}${PATH}`, { ...trust, signal: limited }, (answer) => {
      const chunks: Buffer[] = [];
      let size = 0;
      answer.on("data", (chunk: Buffer) => {
        size += chunk.length;
        if (size > BYTES_MAX) answer.destroy(new Error("the answer is too long"));
        else chunks.push(chunk);
      });
      answer.on("error", reject);
      answer.on("end", () => {
        if (answer.statusCode === 200) resolve(Buffer.concat(chunks).toString());
        else reject(new Error(`cluster-info: the server answered ${answer.statusCode}`));
      });
    });
    outgoing.on("error", reject);
    outgoing.end();
  }).catch((error: unknown) => {
    signal.throwIfAborted();
    throw new DiscoveryError(
      `couldn't validate the identity of the API Server: ${messageOf(error)}`,
    );
  });
  return (JSON.parse(text) as { readonly data?: ClusterInfoData }).data ?? {};
}
