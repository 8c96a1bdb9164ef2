/** An OpenID Connect issuer on a real port, with an authority of its own. */
import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { createServer, type Server } from "node:https";
import { join } from "node:path";
import { issueLeaf, openAuthority } from "#pki/authority.ts";

export type Algorithm = "RS256" | "ES256";

export interface SigningKey {
  readonly id: string;
  readonly algorithm: Algorithm;
  readonly key: KeyObject;
}

export interface Issuer extends AsyncDisposable {
  readonly url: string;
  readonly caFile: string;
  /** What is published; replaced when keys are rotated. */
  keys: readonly SigningKey[];
  /** Documents at other paths, with the token they are asked for with. */
  readonly documents: Map<string, { readonly bearer: string; readonly text: string }>;
  /** How often each path was asked for. */
  readonly asked: Map<string, number>;
  tokenOf(key: SigningKey, claims: object): string;
}

export function newSigningKey(id: string, algorithm: Algorithm): SigningKey {
  const { privateKey } =
    algorithm === "RS256"
      ? generateKeyPairSync("rsa", { modulusLength: 2048 })
      : generateKeyPairSync("ec", { namedCurve: "P-256" });
  return { id, algorithm, key: privateKey };
}

export async function startIssuer(directory: string): Promise<Issuer> {
  const nowMs = Date.now();
  const authority = openAuthority(join(directory, "issuer-ca"), "issuer-ca", nowMs);
  const { certificatePem, keyPem } = issueLeaf(
    authority,
    { subject: { commonName: "issuer" }, purpose: "server auth", altNames: ["127.0.0.1"] },
    nowMs,
  );
  const asked = new Map<string, number>();
  const documents: Issuer["documents"] = new Map();
  const server = createServer({ cert: certificatePem, key: keyPem }, (request, response) => {
    const path = request.url ?? "";
    asked.set(path, (asked.get(path) ?? 0) + 1);
    const document = documents.get(path);
    const text =
      document === undefined
        ? published(path)
        : request.headers.authorization === `Bearer ${document.bearer}`
          ? document.text
          : undefined;
    response.writeHead(text === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(text);
  });
  const published = (path: string): string | undefined => {
    if (path === "/id/.well-known/openid-configuration") {
      return JSON.stringify({ issuer: issuer.url, jwks_uri: `${issuer.url}/keys` });
    }
    return path === "/id/keys" ? JSON.stringify({ keys: issuer.keys.map(jwkOf) }) : undefined;
  };
  const port = await listen(server);
  const issuer: Issuer = {
    url: `https://127.0.0.1:${port}/id`,
    caFile: join(directory, "issuer-ca.crt"),
    keys: [],
    documents,
    asked,
    tokenOf: (key, claims) => compact(key, { iss: issuer.url, ...claims }),
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
  return issuer;
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : 0);
    });
  });
}

function jwkOf({ id, algorithm, key }: SigningKey): object {
  return { ...createPublicKey(key).export({ format: "jwk" }), kid: id, alg: algorithm, use: "sig" };
}

/** Written out here, so that the server's own signing is not what its tests rest on. */
function compact({ id, algorithm, key }: SigningKey, claims: object): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const signed = `${part({ alg: algorithm, kid: id })}.${part(claims)}`;
  const signature = sign("sha256", Buffer.from(signed), {
    key,
    ...(algorithm === "ES256" ? { dsaEncoding: "ieee-p1363" as const } : {}),
  });
  return `${signed}.${signature.toString("base64url")}`;
}
