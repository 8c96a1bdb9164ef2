import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, test } from "vitest";
import { issueLeaf, openAuthority } from "#pki/authority.ts";
import { isAuthorityPin, pinOfAuthority } from "./authority-pin.ts";
import { parseBootstrapToken } from "./bootstrap-token.ts";
import { verifiedInfo } from "./cluster-info.ts";
import { rotationTimeMs } from "./rotate-certificate.ts";

const NOW_MS = Date.parse("2030-01-01T00:00:00Z");
const folder = mkdtempSync(join(tmpdir(), "k8ts-info-"));
afterAll(() => rmSync(folder, { recursive: true }));
const authority = openAuthority(join(folder, "ca"), "kubernetes", NOW_MS);
const PIN = pinOfAuthority(authority.certificatePem);
const TOKEN = { id: "abcdef", secret: "0123456789abcdef" };
const kubeconfig = `clusters:
- cluster:
    server: https://192.0.2.1:6443
    certificate-authority-data: ${Buffer.from(authority.certificatePem).toString("base64")}
`;

function signed(secret: string, content = kubeconfig): string {
  const header = Buffer.from(`{"alg":"HS256","kid":"abcdef"}`).toString("base64url");
  const text = `${header}.${Buffer.from(content).toString("base64url")}`;
  return `${header}..${createHmac("sha256", secret).update(text).digest("base64url")}`;
}

const good = { kubeconfig, "jws-kubeconfig-abcdef": signed(TOKEN.secret) };
const cases = [
  { name: "signed and pinned", data: good, pins: [PIN], refused: undefined },
  { name: "signed, pins given up", data: good, pins: [], refused: undefined },
  {
    name: "another authority is pinned",
    data: good,
    pins: [`sha256:${"0".repeat(64)}`],
    refused: /pinned/,
  },
  { name: "no signature for the token", data: { kubeconfig }, pins: [PIN], refused: /has expired/ },
  {
    name: "signed with another secret",
    data: { kubeconfig, "jws-kubeconfig-abcdef": signed("fedcba9876543210") },
    ...{ pins: [PIN], refused: /does not fit/ },
  },
  {
    name: "changed after it was signed",
    data: { ...good, kubeconfig: kubeconfig.replace("192.0.2.1", "192.0.2.2") },
    ...{ pins: [PIN], refused: /does not fit/ },
  },
  { name: "no kubeconfig", data: {}, pins: [PIN], refused: /has no kubeconfig/ },
];

for (const { name, data, pins, refused } of cases) {
  test(`cluster-info: ${name}`, () => {
    if (refused !== undefined) {
      assert.throws(() => verifiedInfo(data, TOKEN, pins), refused);
      return;
    }
    const { server, authorityPem } = verifiedInfo(data, TOKEN, pins);
    assert.equal(server, "https://192.0.2.1:6443");
    assert.equal(authorityPem, authority.certificatePem);
  });
}

test("bootstrap tokens and --ca-cert-hash have kubeadm's form", () => {
  assert.deepEqual(parseBootstrapToken("abcdef.0123456789abcdef"), TOKEN);
  for (const wrong of ["abcdef", "abcde.0123456789abcdef", "ABCDEF.0123456789abcdef", ""]) {
    assert.equal(parseBootstrapToken(wrong), undefined);
  }
  assert.ok(isAuthorityPin(PIN));
  assert.ok(!isAuthorityPin("sha256:abc"));
});

test("client certificates are rotated between 70 % and 90 % of their life", () => {
  const subject = { commonName: "system:node:n", organizations: ["system:nodes"] };
  const pair = issueLeaf(authority, { subject, purpose: "client auth" }, NOW_MS);
  const dayMs = 86_400_000;
  const days = (chance: number): number =>
    (rotationTimeMs(pair.certificatePem, chance) - NOW_MS) / dayMs;
  assert.ok(Math.abs(days(0) - 365 * 0.7) < 1);
  assert.ok(Math.abs(days(0.999) - 365 * 0.9) < 1);
});
