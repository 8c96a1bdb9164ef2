/** clusterTrustBundle and podCertificate sources of projected volumes, with a signer in the test. */
import assert from "node:assert/strict";
import { createPrivateKey, createPublicKey, X509Certificate } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import { type Authority, openAuthority } from "#pki/authority.ts";
import { grantRequest } from "#pki/certificate-request.ts";
import { type NodeCluster, startNodeCluster } from "./cluster.ts";
import { until } from "./eventually.ts";
import { BUSYBOX } from "./runtime.ts";

const LONG = { timeoutMs: 90_000 };
const SIGNER = "example.com/pods";
const API = "/apis/certificates.k8s.io/v1beta1";
const GATES = ["ClusterTrustBundle", "ClusterTrustBundleProjection", "PodCertificateRequest"];

let cluster: NodeCluster;
let authority: Authority;

beforeAll(async () => {
  cluster = await startNodeCluster(() => [], {
    upArgs: [
      `--feature-gates=${GATES.map((gate) => `${gate}=true`).join()}`,
      "--runtime-config=certificates.k8s.io/v1beta1=true",
    ],
  });
  authority = openAuthority(join(cluster.machine.dir, "signer"), "pod signer", Date.now());
}, 120_000);

afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
});

test("clusterTrustBundle: by name and by signer, deduplicated, optional, and updated live", async () => {
  const other = openAuthority(join(cluster.machine.dir, "other"), "other", Date.now());
  const [one, two] = [authority.certificatePem, other.certificatePem];
  await cluster.apply(
    bundle("plain", { trustBundle: `a comment\n${one}and another\n` }),
    bundle("example.com:pods:a", { signerName: SIGNER, trustBundle: one }, { live: "yes" }),
    bundle("example.com:pods:b", { signerName: SIGNER, trustBundle: one + two }, { live: "yes" }),
    bundle("example.com:pods:c", { signerName: SIGNER, trustBundle: two }, { live: "no" }),
  );
  const sources = [
    { clusterTrustBundle: { name: "plain", path: "plain.pem" } },
    {
      clusterTrustBundle: {
        ...{ signerName: SIGNER, labelSelector: { matchLabels: { live: "yes" } } },
        path: "signer.pem",
      },
    },
    { clusterTrustBundle: { name: "absent", optional: true, path: "absent.pem" } },
  ];
  await cluster.apply(pod("anchors", sources));
  await isReady("anchors");
  const file = (name: string): Promise<string> =>
    cluster.kubectl("exec", "anchors", "--", "cat", `/certs/${name}`);
  assert.equal(await file("plain.pem"), one);
  assert.equal(await file("absent.pem"), "");
  const both = await file("signer.pem");
  assert.equal(both.length, one.length + two.length);
  assert.ok(both.includes(one) && both.includes(two));
  await cluster.apply(bundle("plain", { trustBundle: two }));
  await until(async () => (await file("plain.pem")) === two, LONG);
}, 180_000);

test("clusterTrustBundle: a pod waits with FailedMount for a bundle, and starts once it exists", async () => {
  await cluster.apply(pod("early", [{ clusterTrustBundle: { name: "later", path: "later.pem" } }]));
  await until(
    async () =>
      /while getting ClusterTrustBundle: .*"later" not found/.test(await eventsOf("early")),
    LONG,
  );
  await cluster.apply(bundle("later", { trustBundle: authority.certificatePem }));
  await isReady("early");
}, 180_000);

test("podCertificate: the pod waits until its certificate is issued; key, chain and bundle match", async () => {
  const paths = {
    ...{ credentialBundlePath: "bundle.pem", keyPath: "key.pem" },
    certificateChainPath: "chain.pem",
  };
  const projection = { signerName: SIGNER, keyType: "ED25519", maxExpirationSeconds: 3_600 };
  await cluster.apply(pod("identity", [{ podCertificate: { ...projection, ...paths } }]));
  const request = await requestOf("identity");
  assert.equal(request.spec.nodeName, "node-1");
  assert.equal(request.spec.maxExpirationSeconds, 3_600);
  await until(
    async () => /credential bundle is not issued yet/.test(await eventsOf("identity")),
    LONG,
  );
  await issue(request, 3_300_000);
  await isReady("identity");
  const read = (name: string): Promise<string> =>
    cluster.kubectl("exec", "identity", "--", "cat", `/certs/${name}`);
  const [key, chain] = [await read("key.pem"), await read("chain.pem")];
  assert.equal(await read("bundle.pem"), key + chain);
  assert.ok(new X509Certificate(chain).checkPrivateKey(createPrivateKey(key)));
  assert.equal(createPublicKey(key).asymmetricKeyType, "ed25519");
}, 180_000);

test("podCertificate: a denied request keeps the pod from starting and is recorded as an event", async () => {
  const projection = { signerName: SIGNER, keyType: "ECDSAP256", keyPath: "key.pem" };
  await cluster.apply(pod("refused", [{ podCertificate: projection }]));
  const request = await requestOf("refused");
  await putStatus(request, {
    conditions: [condition("Denied", "PolicyForbids", "not on this node")],
  });
  await until(async () => {
    const events = await eventsOf("refused");
    return (
      /permanently denied: reason="PolicyForbids" message="not on this node"/.test(events) &&
      /was denied, reason="PolicyForbids", message="not on this node"/.test(events)
    );
  }, LONG);
}, 180_000);

test("podCertificate: a kubelet that starts anew asks for another certificate and replaces the files", async () => {
  const projection = { signerName: SIGNER, keyType: "ECDSAP384", credentialBundlePath: "all.pem" };
  await cluster.apply(pod("renewed", [{ podCertificate: projection }]));
  const first = await requestOf("renewed");
  await issue(first, 3_300_000);
  await isReady("renewed");
  const read = (): Promise<string> =>
    cluster.kubectl("exec", "renewed", "--", "cat", "/certs/all.pem");
  const before = await read();
  // A kubelet keeps nothing of certificates: one that starts anew asks anew.
  await cluster.stopKubelet("SIGKILL");
  cluster.startKubelet();
  const second = await requestOf("renewed", first.metadata.name);
  await issue(second, 3_300_000);
  await until(async () => (await read()) !== before, LONG);
}, 240_000);

interface RequestView {
  readonly apiVersion: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly podName: string;
    readonly nodeName: string;
    readonly maxExpirationSeconds: number;
    readonly stubPKCS10Request: string;
  };
}

async function requestOf(podName: string, not = ""): Promise<RequestView> {
  let found: RequestView | undefined;
  await until(async () => {
    const list = await cluster.kubectl(
      "get",
      "--raw",
      `${API}/namespaces/default/podcertificaterequests`,
    );
    const { items } = JSON.parse(list) as { items: RequestView[] };
    found = items.find(({ metadata, spec }) => spec.podName === podName && metadata.name !== not);
    return found !== undefined;
  }, LONG);
  return found!;
}

/** Certificates are dated back by so much; the server wants one that starts now. */
const BACKDATE_MS = 5 * 60_000;

/** As a signer does: it signs the key and writes the outcome to the request's status. */
async function issue(request: RequestView, lifetimeMs: number): Promise<void> {
  const nowMs = Date.now();
  const der = Buffer.from(request.spec.stubPKCS10Request, "base64");
  const usages = ["digital signature", "client auth"];
  const chain = grantRequest({ der, usages, lifetimeMs }, authority, nowMs + BACKDATE_MS);
  const { validFrom, validTo } = new X509Certificate(chain);
  const time = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
  await putStatus(request, {
    conditions: [condition("Issued", "Issued", "issued by the test")],
    certificateChain: `${chain}`,
    notBefore: time(Date.parse(validFrom)),
    beginRefreshAt: time(Date.parse(validFrom) + 20 * 60_000),
    notAfter: time(Date.parse(validTo)),
  });
}

async function putStatus(request: RequestView, status: object): Promise<void> {
  const file = join(cluster.machine.dir, `${request.metadata.name}.json`);
  await writeFile(
    file,
    JSON.stringify({
      ...request,
      kind: "PodCertificateRequest",
      apiVersion: "certificates.k8s.io/v1beta1",
      status,
    }),
  );
  const path = `${API}/namespaces/default/podcertificaterequests/${request.metadata.name}/status`;
  await cluster.kubectl("replace", "--raw", path, "-f", file);
}

function condition(type: string, reason: string, message: string): object {
  const lastTransitionTime = new Date().toISOString().replace(/\.\d+Z$/, "Z");
  return { type, status: "True", reason, message, lastTransitionTime };
}

function bundle(name: string, spec: object, labels: Record<string, string> = {}): object {
  const apiVersion = "certificates.k8s.io/v1beta1";
  return { apiVersion, kind: "ClusterTrustBundle", metadata: { name, labels }, spec };
}

function pod(name: string, sources: readonly object[]): object {
  const main = {
    ...{ name: "main", image: BUSYBOX, imagePullPolicy: "Never" },
    volumeMounts: [{ name: "certs", mountPath: "/certs" }],
  };
  const spec = {
    ...{ containers: [main], terminationGracePeriodSeconds: 1 },
    volumes: [{ name: "certs", projected: { sources } }],
  };
  return { apiVersion: "v1", kind: "Pod", metadata: { name }, spec };
}

async function isReady(name: string): Promise<void> {
  await until(async () => {
    const { status } = await cluster.pod(name);
    return status.conditions?.some((one) => one.type === "Ready" && one.status === "True") ?? false;
  }, LONG).catch(async (error: unknown) => {
    throw new Error(`${name} is not ready: ${await eventsOf(name)}`, { cause: error });
  });
}

function eventsOf(name: string): Promise<string> {
  const selector = `involvedObject.name=${name}`;
  return cluster.kubectl(
    "get",
    "events",
    "--field-selector",
    selector,
    "-o",
    "jsonpath={.items[*].message}",
  );
}
