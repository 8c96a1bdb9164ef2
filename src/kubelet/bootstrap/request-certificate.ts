/**
 * A kubelet's certificates from the cluster: a CertificateSigningRequest that the controllers approve
 * and sign. The key never leaves the machine.
 */
import type { CertificateSigningRequest } from "#api/generated/certificates.v1.ts";
import { certificateSigningRequestKind } from "#api/kinds/certificates/v1/certificate-signing-request.ts";
import type { Client } from "#client/client.ts";
import type { Clock } from "#lib/time/clock.ts";
import { createRequest } from "#pki/certificate-request.ts";
import { type KeyPair, newKey, privateKeyPem } from "#pki/key-pair.ts";

/** Upstream's kubelet waits as long. */
const TIMEOUT_MS = 15 * 60_000;
/** Asked again after this time at first, and less and less often: a person may have to approve it. */
const ASK_AGAIN_MS = 250;
const ASK_AGAIN_MAX_MS = 5_000;

export interface CertificateRequest {
  readonly signerName: string;
  readonly usages: readonly string[];
  /** DNS names and addresses. */
  readonly altNames: readonly string[];
}

const CLIENT_REQUEST: CertificateRequest = {
  signerName: "kubernetes.io/kube-apiserver-client-kubelet",
  usages: ["digital signature", "client auth"],
  altNames: [],
};

export function requestClientCertificate(
  client: Client,
  nodeName: string,
  clock: Clock,
  signal: AbortSignal,
): Promise<KeyPair> {
  return requestCertificate(client, nodeName, CLIENT_REQUEST, clock, signal);
}

export async function requestCertificate(
  client: Client,
  nodeName: string,
  { signerName, usages, altNames }: CertificateRequest,
  clock: Clock,
  signal: AbortSignal,
): Promise<KeyPair> {
  const { privateKey } = newKey();
  const subject = { commonName: `system:node:${nodeName}`, organizations: ["system:nodes"] };
  const created = await client.create(
    certificateSigningRequestKind,
    {
      apiVersion: "certificates.k8s.io/v1",
      kind: "CertificateSigningRequest",
      metadata: { generateName: "csr-" },
      spec: {
        request: Buffer.from(createRequest(subject, altNames, privateKey)).toString("base64"),
        signerName,
        usages,
      },
      status: {},
    },
    {},
    signal,
  );
  if (!created.ok) {
    throw new Error(`cannot create certificate signing request: ${created.status.message}`);
  }
  const name = created.value.metadata.name ?? "";
  const certificatePem = await issued(client, name, clock, signal);
  return { certificatePem, keyPem: privateKeyPem(privateKey) };
}

async function issued(
  client: Client,
  name: string,
  clock: Clock,
  signal: AbortSignal,
): Promise<string> {
  const endMs = clock.elapsedMs() + TIMEOUT_MS;
  let pauseMs = ASK_AGAIN_MS;
  while (clock.elapsedMs() < endMs) {
    const found = await client.get(certificateSigningRequestKind, { name }, signal);
    if (!found.ok) throw new Error(`certificate request ${name}: ${found.status.message}`);
    const refusal = refusalOf(found.value);
    if (refusal !== undefined) throw new Error(`certificate request ${name} ${refusal}`);
    const { certificate } = found.value.status;
    if (certificate) return Buffer.from(certificate, "base64").toString();
    await clock.sleep(pauseMs, signal);
    pauseMs = Math.min(pauseMs * 1.5, ASK_AGAIN_MAX_MS);
  }
  throw new Error(
    `certificate request ${name} was not signed within ${TIMEOUT_MS / 60_000} minutes`,
  );
}

function refusalOf({ status }: CertificateSigningRequest): string | undefined {
  const refused = status.conditions?.find(({ type }) => type === "Denied" || type === "Failed");
  if (refused === undefined) return undefined;
  const what = refused.type === "Denied" ? "was denied" : "failed";
  return `${what}: ${refused.message ?? refused.reason ?? ""}`;
}
