import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { AUTHORITY_PEM, LEAF_PEM, REQUEST_PEM } from "#api/testing/certificates.ts";
import { cellsOf, runKind } from "#api/testing/run-kind.ts";
import { clusterTrustBundleV1beta1Kind as kind } from "./cluster-trust-bundle.ts";

const SIGNER = "example.com/s";
const bundle = (trustBundle: string, signerName?: string, name = "x") => ({
  metadata: { name },
  spec: { trustBundle, ...(signerName === undefined ? {} : { signerName }) },
});
const BUNDLE = 'spec.trustBundle: Invalid value: "<value omitted>"';

describe("ClusterTrustBundle: trust bundles", () => {
  const rows = [
    {
      name: "an empty trustBundle",
      write: { object: bundle("") },
      faults: [`${BUNDLE}: at least one trust anchor must be provided`],
    },
    {
      name: "certificates that are no CA, and other PEM blocks",
      write: { object: bundle(AUTHORITY_PEM + LEAF_PEM + REQUEST_PEM) },
      faults: [
        `${BUNDLE}: entry 1 does not have the CA bit set`,
        `${BUNDLE}: entry 2 has bad block type: CERTIFICATE REQUEST`,
      ],
    },
    {
      name: "an authority twice",
      write: { object: bundle(AUTHORITY_PEM + AUTHORITY_PEM) },
      faults: [`${BUNDLE}: duplicate trust anchor (indices [0 1])`],
    },
    {
      name: "a name that is a signer's",
      write: { object: bundle(AUTHORITY_PEM, undefined, "a:b") },
      faults: [
        'metadata.name: Invalid value: "a:b": ClusterTrustBundle without signer name must not have ":" in its name',
      ],
    },
    {
      name: "a name that is not the signer's",
      write: { object: bundle(AUTHORITY_PEM, SIGNER) },
      faults: [
        'metadata.name: Invalid value: "x": ClusterTrustBundle for signerName example.com/s must be named with prefix example.com:s:',
      ],
    },
    {
      name: "another signer",
      write: {
        object: bundle(AUTHORITY_PEM, SIGNER, "example.com:s:x"),
        old: bundle(AUTHORITY_PEM, undefined, "example.com:s:x"),
      },
      faults: ['spec.signerName: Invalid value: "example.com/s": field is immutable'],
    },
  ];
  for (const { name, write, faults } of rows) {
    test(`refuse ${name}`, () => assert.deepEqual(runKind(kind, write).faults, faults));
  }

  test("a bundle that is left alone is not read again", () => {
    const odd = bundle(LEAF_PEM);
    assert.deepEqual(runKind(kind, { object: odd, old: odd }).faults, []);
  });

  test("a bundle of a signer is accepted, and its columns show the signer", () => {
    const outcome = runKind(kind, { object: bundle(AUTHORITY_PEM, SIGNER, "example.com:s:x") });
    assert.deepEqual(outcome.faults, []);
    assert.deepEqual(cellsOf(kind, outcome), ["example.com:s:x", SIGNER]);
  });
});
