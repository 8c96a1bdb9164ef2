/**
 * The key pair of SSH tunnels, in the files that upstream's API server used: `KEYFILE` (PKCS #1, RSA of
 * 2048 bits) and `KEYFILE.pub` (PEM). Both are made if the public one is missing, which is written last.
 * `KEYFILE.authorized_keys` has the same key as a line for `~/.ssh/authorized_keys` on the nodes: upstream
 * handed that line to the cloud provider, here an administrator or an image installs it.
 */
import { createPublicKey, generateKeyPair, type KeyObject } from "node:crypto";
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { promisify } from "node:util";

const KEY_BITS = 2048;
const PRIVATE = { mode: 0o600 };

/** Makes the pair unless it is there. Throws if it cannot be written. */
export async function ensureSshKey(keyFile: string): Promise<void> {
  if (statSync(publicFile(keyFile), { throwIfNoEntry: false }) !== undefined) return;
  const { privateKey, publicKey } = await promisify(generateKeyPair)("rsa", {
    modulusLength: KEY_BITS,
    privateKeyEncoding: { type: "pkcs1", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
  rmSync(keyFile, { force: true }); // left by a start that ended half-way
  writeFileSync(keyFile, privateKey, PRIVATE);
  replaceFile(publicFile(keyFile), publicKey);
}

/** Writes the line that nodes need; answers it. Throws if the public key cannot be read. */
export function publishSshKey(keyFile: string): string {
  const file = publicFile(keyFile);
  let key: KeyObject;
  try {
    key = createPublicKey(readFileSync(file, "utf8"));
  } catch (error) {
    throw new Error(`error parsing SSH key ${file}`, { cause: error });
  }
  if (key.asymmetricKeyType !== "rsa") {
    throw new Error("SSH key could not be parsed as rsa public key");
  }
  const line = authorizedKey(key);
  const published = `${keyFile}.authorized_keys`;
  if (!isContent(published, `${line}\n`)) replaceFile(published, `${line}\n`);
  return line;
}

function publicFile(keyFile: string): string {
  return `${keyFile}.pub`;
}

function replaceFile(file: string, text: string): void {
  writeFileSync(`${file}.tmp`, text, PRIVATE);
  renameSync(`${file}.tmp`, file);
}

function isContent(file: string, text: string): boolean {
  try {
    return readFileSync(file, "utf8") === text;
  } catch {
    return false;
  }
}

/** RFC 4253, 6.6: the name of the format, the exponent and the modulus. */
function authorizedKey(key: KeyObject): string {
  const { e = "", n = "" } = key.export({ format: "jwk" });
  const parts = [Buffer.from("ssh-rsa"), integer(e), integer(n)];
  const blob = Buffer.concat(parts.flatMap((part) => [length(part), part]));
  return `ssh-rsa ${blob.toString("base64")}`;
}

/** Numbers are signed: one whose first bit is set begins with a zero. */
function integer(base64url: string): Buffer {
  const bytes = Buffer.from(base64url, "base64url");
  return bytes[0]! < 0x80 ? bytes : Buffer.concat([Buffer.of(0), bytes]);
}

function length(bytes: Buffer): Buffer {
  const prefix = Buffer.alloc(4);
  prefix.writeUInt32BE(bytes.length);
  return prefix;
}
