import assert from "node:assert/strict";
import { createDecipheriv } from "node:crypto";
import { test } from "vitest";
import {
  decryptFiles,
  encryptFiles,
  isCertificateKey,
  newCertificateKey,
} from "./control-plane-secret.ts";

const files = { "ca.crt": "certificate", "ca.key": "key ü" };

test("kubeadm-certs: what was encrypted with the certificate key is decrypted with it", () => {
  const key = newCertificateKey();
  assert.ok(isCertificateKey(key));
  assert.deepEqual(decryptFiles(encryptFiles(files, key), key), files);
});

test("kubeadm-certs: another certificate key and changed data are refused", () => {
  const key = newCertificateKey();
  const data = encryptFiles(files, key);
  assert.equal(decryptFiles(data, newCertificateKey()), undefined);
  const bytes = Buffer.from(data["ca.key"]!, "base64");
  bytes[14]! ^= 1;
  assert.equal(decryptFiles({ ...data, "ca.key": bytes.toString("base64") }, key), undefined);
  assert.equal(decryptFiles({ "ca.key": "AAAA" }, key), undefined);
});

test("kubeadm-certs: a value is the nonce, the ciphertext and the tag of AES-256-GCM", () => {
  const key = newCertificateKey();
  const bytes = Buffer.from(encryptFiles(files, key)["ca.crt"]!, "base64");
  const decipher = createDecipheriv("aes-256-gcm", Buffer.from(key, "hex"), bytes.subarray(0, 12));
  decipher.setAuthTag(bytes.subarray(-16));
  assert.equal(decipher.update(bytes.subarray(12, -16), undefined, "utf8"), "certificate");
  decipher.final();
});
