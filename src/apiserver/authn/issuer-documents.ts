/** The OpenID discovery document and JWKS, with which others verify service account tokens. */
import { createPublicKey } from "node:crypto";
import { publicJwk, verificationKey } from "./jwt.ts";

export interface IssuerDocuments {
  /** `/.well-known/openid-configuration` */
  readonly configuration: string;
  /** `/openid/v1/jwks` */
  readonly keys: string;
}

/** Undefined for issuers that are no https URLs: OpenID knows no others. */
export function issuerDocuments(
  issuer: string,
  keysUrl: string,
  keyPems: readonly string[],
): IssuerDocuments | undefined {
  if (!/^https:\/\/[^?#]+$/.test(issuer)) return undefined;
  const keys = keyPems.map((pem) => verificationKey(createPublicKey(pem)));
  const algorithms = [...new Set(keys.map(({ algorithm }) => algorithm))].sort();
  return {
    configuration: JSON.stringify({
      issuer,
      jwks_uri: keysUrl,
      response_types_supported: ["id_token"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: algorithms,
    }),
    keys: JSON.stringify({ keys: keys.map(publicJwk) }),
  };
}
