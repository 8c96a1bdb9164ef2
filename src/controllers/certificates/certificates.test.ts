import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { describe, test } from "vitest";
import type { CertificateSigningRequest } from "#api/generated/certificates.v1.ts";
import { certificateSigningRequestKind } from "#api/kinds/certificates/v1/certificate-signing-request.ts";
import { issueCertificate } from "#pki/certificate.ts";
import { createRequest, grantRequest } from "#pki/certificate-request.ts";
import { newKey } from "#pki/key-pair.ts";
import type { Subject } from "#pki/subject.ts";
import { type Cluster, type Draft, startCluster } from "#testing/cluster.ts";
import { decide as approve, certificateApproving, permissionsFor } from "./approving.ts";
import { certificateCleaner } from "./cleaner.ts";
import { SIGNER } from "./requests.ts";
import { certificateSigning, lifetimeOf } from "./signing.ts";

const AT = "2030-01-01T00:00:00Z";
const AT_MS = Date.parse(AT);
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const { privateKey } = newKey();
const authority = newKey();
const certificatePem = issueCertificate(
  {
    subject: { commonName: "kubernetes" },
    publicKey: authority.publicKey,
    usages: ["cert sign"],
    authority: true,
    notBeforeMs: AT_MS - HOUR_MS,
    notAfterMs: AT_MS + 3650 * DAY_MS,
  },
  { key: authority.privateKey },
);
const NODE: Subject = { commonName: "system:node:a", organizations: ["system:nodes"] };
const CLIENT_USAGES = ["digital signature", "client auth"];
const APPROVED = {
  type: "Approved",
  status: "True",
  reason: "Test",
  lastUpdateTime: AT,
  lastTransitionTime: AT,
} as const;

function request(
  spec: Partial<CertificateSigningRequest["spec"]> & { subject?: Subject; names?: string[] },
  status: Draft<CertificateSigningRequest["status"]> = {},
): Draft<CertificateSigningRequest> {
  const { subject = NODE, names = [], ...rest } = spec;
  return {
    metadata: { name: "r" },
    spec: {
      request: btoa(createRequest(subject, names, privateKey)),
      signerName: SIGNER.kubeletClient,
      usages: CLIENT_USAGES,
      username: "system:bootstrap:abcdef",
      ...rest,
    },
    status,
  };
}

const signing = certificateSigning({
  lifetimeMaxMs: 365 * DAY_MS,
  signers: Object.fromEntries(
    Object.values(SIGNER).map((name) => [
      name,
      (grant) => grantRequest(grant, { key: authority.privateKey, certificatePem }, AT_MS),
    ]),
  ),
});

const get = (cluster: Cluster) => cluster.get(certificateSigningRequestKind, "r");

describe("CertificateSigningRequest: approving", () => {
  const rows: { name: string; spec: Parameters<typeof request>[0]; want: readonly string[] }[] = [
    { name: "a bootstrap user requests a node client certificate", spec: {}, want: ["nodeclient"] },
    {
      name: "a node asks for itself",
      spec: { username: "system:node:a" },
      want: ["selfnodeclient", "nodeclient"],
    },
    {
      name: "a request of another signer is left alone",
      spec: { signerName: SIGNER.apiServerClient },
      want: [],
    },
    { name: "a request with DNS names is left alone", spec: { names: ["a.example"] }, want: [] },
    {
      name: "a request whose subject is no node is left alone",
      spec: { subject: { commonName: "eve" } },
      want: [],
    },
    {
      name: "a request with usage server auth is left alone",
      spec: { usages: ["server auth"] },
      want: [],
    },
  ];
  for (const { name, spec, want } of rows) {
    test(name, () =>
      assert.deepEqual(permissionsFor(request(spec) as CertificateSigningRequest), want),
    );
  }

  test("a refused SubjectAccessReview is asked again with backoff", () => {
    const draft = request({}) as CertificateSigningRequest;
    const old = { ...draft, metadata: { name: "r", creationTimestamp: AT } };
    const state = { request: old, tried: ["nodeclient"], granted: undefined } as const;
    assert.deepEqual(approve(state, AT_MS), { recheckInMs: 200 });
    assert.deepEqual(approve(state, AT_MS + 5000), { recheckInMs: 5000 });
    assert.deepEqual(approve(state, AT_MS + DAY_MS), { recheckInMs: 1_000_000 });
  });

  test("a kubelet's request is approved and signed", async () => {
    await using cluster = await startCluster({
      at: AT,
      controllers: [certificateApproving, signing],
    });
    await cluster.seed(certificateSigningRequestKind, request({ username: "system:node:a" }));
    const { status } = get(cluster)!;
    assert.deepEqual(status.conditions, [
      {
        type: "Approved",
        status: "True",
        reason: "AutoApproved",
        message: "Auto approving self kubelet client certificate after SubjectAccessReview.",
        lastUpdateTime: AT,
        lastTransitionTime: AT,
      },
    ]);
    const certificate = new X509Certificate(atob(status.certificate ?? ""));
    assert.equal(certificate.subject, "O=system:nodes\nCN=system:node:a");
  });
});

describe("CertificateSigningRequest: signing", () => {
  const rows: { name: string; spec: Parameters<typeof request>[0]; fault?: string }[] = [
    { name: "a kubelet's client certificate", spec: {} },
    {
      name: "a client of the API server",
      spec: { signerName: SIGNER.apiServerClient, subject: { commonName: "jane" } },
    },
    {
      name: "a client that wants to serve",
      spec: { signerName: SIGNER.apiServerClient, usages: ["client auth", "server auth"] },
      fault: "invalid usage for client certificate: server auth",
    },
    {
      name: "a client that wants nothing",
      spec: { signerName: SIGNER.apiServerClient, usages: ["key encipherment"] },
      fault: "missing required usage for client certificate: client auth",
    },
    {
      name: "a kubelet's serving certificate",
      spec: {
        signerName: SIGNER.kubeletServing,
        usages: ["digital signature", "key encipherment", "server auth"],
        names: ["10.0.0.1"],
      },
    },
    {
      name: "serving without a name",
      spec: { signerName: SIGNER.kubeletServing, usages: ["digital signature", "server auth"] },
      fault: "DNS or IP subjectAltName is required",
    },
    {
      name: "a client certificate with an address",
      spec: { names: ["10.0.0.1"] },
      fault: "IP subjectAltNames are not allowed",
    },
    {
      name: "a request without the usages of its signer fails",
      spec: { usages: ["client auth"] },
      fault: "usages did not match [client auth digital signature key encipherment]",
    },
    {
      name: "a request whose common name is no node fails",
      spec: { subject: { ...NODE, commonName: "a" } },
      fault: "subject common name does not begin with system:node:",
    },
    {
      name: "whatever the legacy signer is asked",
      spec: { signerName: SIGNER.legacyUnknown, usages: ["any", "decipher only"] },
    },
  ];
  for (const { name, spec, fault } of rows) {
    test(name, async () => {
      await using cluster = await startCluster({ at: AT, controllers: [signing] });
      await cluster.seed(
        certificateSigningRequestKind,
        request(spec, { conditions: [{ ...APPROVED }] }),
      );
      const { status } = get(cluster)!;
      const failed = status.conditions?.find(({ type }) => type === "Failed");
      assert.equal(failed?.message, fault);
      assert.equal(failed?.reason, fault === undefined ? undefined : "SignerValidationFailure");
      assert.equal(status.certificate !== undefined, fault === undefined);
    });
  }

  test("without approval, or for another signer, nothing happens", async () => {
    await using cluster = await startCluster({ at: AT, controllers: [signing] });
    await cluster.seed(certificateSigningRequestKind, request({}));
    assert.deepEqual(get(cluster)?.status, {});
  });

  test("expirationSeconds shortens a life, between ten minutes and the longest", () => {
    assert.equal(lifetimeOf(undefined, DAY_MS), DAY_MS);
    assert.equal(lifetimeOf(3600, DAY_MS), HOUR_MS);
    assert.equal(lifetimeOf(60, DAY_MS), 600_000);
    assert.equal(lifetimeOf(1_000_000, DAY_MS), DAY_MS);
  });
});

describe("CertificateSigningRequest: cleaner", () => {
  const short = grantRequest(
    {
      der: Buffer.from(
        createRequest(NODE, [], privateKey)
          .replace(/-----.*-----/g, "")
          .replace(/\s/g, ""),
        "base64",
      ),
      usages: [],
      lifetimeMs: 600_000,
    },
    { key: authority.privateKey, certificatePem },
    AT_MS,
  );
  const later = "2030-01-01T00:30:00Z";
  const rows: {
    name: string;
    status: Draft<CertificateSigningRequest["status"]>;
    keptMs: number;
  }[] = [
    { name: "pending for a day", status: {}, keptMs: DAY_MS },
    {
      name: "denied for an hour",
      status: { conditions: [{ ...APPROVED, type: "Denied" }] },
      keptMs: HOUR_MS,
    },
    {
      name: "failed for an hour",
      status: { conditions: [{ ...APPROVED, type: "Failed" }] },
      keptMs: HOUR_MS,
    },
    {
      name: "approved but not issued for a day",
      status: { conditions: [APPROVED] },
      keptMs: DAY_MS,
    },
    {
      name: "a request is deleted once its certificate has expired",
      status: {
        conditions: [{ ...APPROVED, lastUpdateTime: later }],
        certificate: btoa(short),
      },
      keptMs: 600_000,
    },
  ];
  for (const { name, status, keptMs } of rows) {
    test(name, async () => {
      await using cluster = await startCluster({ at: AT, controllers: [certificateCleaner] });
      await cluster.seed(certificateSigningRequestKind, {
        ...request({}, status),
        metadata: { name: "r", creationTimestamp: AT },
      });
      await cluster.advance(keptMs);
      assert.ok(get(cluster) !== undefined);
      await cluster.advance(1);
      assert.equal(get(cluster), undefined);
    });
  }
});
