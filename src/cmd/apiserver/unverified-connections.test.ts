import assert from "node:assert/strict";
import { test } from "vitest";
import { warnOfUnverifiedConnections } from "./unverified-connections.ts";

const rows = [
  { name: "listens for others", bindAddress: "0.0.0.0", warns: 1 },
  { name: "listens on loopback only", bindAddress: "127.0.0.1", warns: 0 },
  { name: "has an authority", bindAddress: "0.0.0.0", authority: "ca.crt", warns: 0 },
  { name: "uses SSH tunnels", bindAddress: "0.0.0.0", sshUser: "k8ts", warns: 2 },
];

for (const { name, bindAddress, authority, sshUser, warns } of rows) {
  test(`--kubelet-certificate-authority: a server that ${name} warns ${warns} times`, () => {
    const warnings: string[] = [];
    const flags = { kubeletCertificateAuthority: authority, bindAddress, sshUser };
    warnOfUnverifiedConnections(flags, { warn: (text) => void warnings.push(text) });
    assert.equal(warnings.length, warns);
  });
}
