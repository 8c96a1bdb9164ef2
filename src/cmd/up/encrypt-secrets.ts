/**
 * `k8ts up --encrypt-secrets`: Secrets are encrypted in the store with a key that is made once and kept in
 * the data directory. The file is an ordinary `--encryption-provider-config`.
 *
 * Promises:
 * 1. Once there is such a file it is used at every start, with or without the flag: without it Secrets
 *    could not be read any more.
 * 2. `--encrypt-secrets=false` keeps the key for reading and writes Secrets in plain from then on.
 * 3. Secrets that are there already are written again when the flag is given, before the cluster is ready.
 */
import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { secretKind } from "#api/kinds/core/v1/config/secret.ts";
import { rewriteStale } from "#apiserver/encryption/rewrite-stale.ts";
import type { Logger } from "#lib/logger.ts";
import { readPrivateFile, writePrivateFile } from "#pki/private-file.ts";
import { makeDataDir } from "../apiserver/data-dir.ts";
import type { ApiServerFlags } from "../apiserver/flags/flags.ts";
import type { RunningApiServer } from "../apiserver/run.ts";
import { FlagError } from "../flags/parse-flags.ts";

/** The flags of the API server with the file to use. `wanted`: --encrypt-secrets, if it was given. */
export function withEncryptedSecrets(
  flags: ApiServerFlags,
  wanted: boolean | undefined,
): ApiServerFlags {
  if (flags.encryptionProviderConfig !== undefined) {
    if (wanted === undefined) return flags;
    throw new FlagError("--encrypt-secrets cannot be used with --encryption-provider-config");
  }
  const file = prepareConfig(flags.dataDir, wanted);
  return file === undefined ? flags : { ...flags, encryptionProviderConfig: file };
}

/** Secrets that were stored in another form before are written again. */
export async function rewriteSecrets(
  { api }: RunningApiServer,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  const written = await rewriteStale(api.store, api.resources.storedOf(secretKind), signal);
  if (written > 0) logger.info("Secrets were written again in their new form", { written });
}

/** The file to use; undefined if nothing was ever encrypted. */
function prepareConfig(dataDir: string, wanted: boolean | undefined): string | undefined {
  const folder = join(dataDir, "pki");
  const file = join(folder, "encryption.yaml");
  const text = readPrivateFile(file);
  if (text === undefined) {
    if (wanted !== true) return undefined;
    makeDataDir(dataDir);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writePrivateFile(file, configText(randomBytes(32).toString("base64"), true), true);
    return file;
  }
  if (wanted === undefined) return file;
  const secret = /^ *secret: (\S+)$/m.exec(text)?.[1];
  if (secret === undefined) throw new Error(`${file}: no key is found in it`);
  const next = configText(secret, wanted);
  if (next !== text) writePrivateFile(file, next, true);
  return file;
}

/** The first provider writes; both read. */
function configText(secret: string, encrypts: boolean): string {
  const secretbox = `      - secretbox:
          keys:
            - name: key1
              secret: ${secret}
`;
  const identity = "      - identity: {}\n";
  return `apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
  - resources: [secrets]
    providers:
${encrypts ? secretbox + identity : identity + secretbox}`;
}
