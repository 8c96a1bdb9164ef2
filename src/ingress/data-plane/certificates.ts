/**
 * Certificates by server name (SNI).
 *
 * Promises:
 * 1. A Secret that changes is used for the next handshake; connections that are open stay.
 * 2. A Secret that cannot be used is a problem of its Ingress, and the default certificate serves.
 */
import { createSecureContext, type SecureContext } from "node:tls";
import type { Secret } from "#api/generated/core.v1.ts";
import { messageOf } from "#lib/caught.ts";
import type { Problem, TlsEntry } from "../routes/build-routing-table.ts";
import { wildcardOf } from "../routes/routing-table.ts";

export interface CertificatePair {
  readonly cert: string;
  readonly key: string;
}

interface Loaded {
  readonly secret: Secret;
  readonly pair: CertificatePair;
  readonly context: SecureContext | string;
}

export class Certificates {
  readonly #default: SecureContext;
  #byHost = new Map<string, SecureContext>();
  #pairs: Readonly<Record<string, CertificatePair>> = {};
  #loaded = new Map<string, Loaded>();

  constructor(fallback: CertificatePair) {
    this.#default = contextOf(fallback.cert, fallback.key);
  }

  /** Uses these; `secret` answers by `namespace/name`. */
  update(
    entries: readonly TlsEntry[],
    secret: (key: string) => Secret | undefined,
  ): readonly Problem[] {
    const problems: Problem[] = [];
    const byHost = new Map<string, SecureContext>();
    const pairs: Record<string, CertificatePair> = Object.create(null);
    const loaded = new Map<string, Loaded>();
    for (const entry of entries) {
      const found = secret(entry.secret);
      const known = loaded.get(entry.secret) ?? this.#loaded.get(entry.secret);
      const usable =
        found === undefined ? undefined : known?.secret === found ? known : load(found);
      if (usable !== undefined) loaded.set(entry.secret, usable);
      const context = usable?.context ?? "there is no such Secret of type kubernetes.io/tls";
      if (typeof context !== "string") {
        byHost.set(entry.host, context);
        if (usable !== undefined) pairs[entry.host] = usable.pair;
      } else {
        const message = `Secret ${entry.secret}: ${context}`;
        problems.push({ ingress: entry.ingress, reason: "InvalidTLS", message });
      }
    }
    this.#byHost = byHost;
    this.#loaded = loaded;
    this.#pairs = pairs;
    return problems;
  }

  /** By host; those that can be used. */
  get pairs(): Readonly<Record<string, CertificatePair>> {
    return this.#pairs;
  }

  find(serverName: string): SecureContext {
    const host = serverName.toLowerCase();
    const wildcard = wildcardOf(host) ?? "";
    const found = this.#byHost.get(host) ?? this.#byHost.get(wildcard) ?? this.#byHost.get("");
    return found ?? this.#default;
  }
}

function load(secret: Secret): Loaded {
  const part = (name: string): string =>
    Buffer.from(secret.data?.[name] ?? "", "base64").toString("utf8");
  const pair = { cert: part("tls.crt"), key: part("tls.key") };
  try {
    return { secret, pair, context: contextOf(pair.cert, pair.key) };
  } catch (error) {
    return { secret, pair, context: `the certificate cannot be used: ${messageOf(error)}` };
  }
}

function contextOf(cert: string, key: string): SecureContext {
  if (cert === "" || key === "") throw new Error("tls.crt or tls.key is empty");
  return createSecureContext({ cert, key, minVersion: "TLSv1.2" });
}
