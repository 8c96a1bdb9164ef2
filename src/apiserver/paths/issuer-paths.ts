/** Where others find the keys that service account tokens are verified with. */

import { issuerDocuments } from "../authn/issuer-documents.ts";
import type { PathHandler } from "../request/handler.ts";
import type { RequestSecurity } from "../request/security.ts";
import { answer } from "../response/answer.ts";
import { getOnly } from "./get-only.ts";

export const KEYS_PATH = "/openid/v1/jwks";
const CONFIGURATION_PATH = "/.well-known/openid-configuration";
const JSON_TYPE = "application/json";
const KEYS_TYPE = "application/jwk-set+json";
const CACHED = { "cache-control": "public, max-age=3600" };

/** `keysUrl`: where the keys are found, unless the options name another place. */
export function issuerPaths({ issuer }: RequestSecurity, keysUrl: string): PathHandler {
  const documents = issuerDocuments(issuer.url, issuer.keysUrl ?? keysUrl, issuer.keys);
  if (documents === undefined) return () => undefined;
  const cached = (contentType: string, text: string) => {
    const body = { form: "bytes", contentType, bytes: Buffer.from(text) } as const;
    return answer(200, body, { headers: CACHED });
  };
  return (request) => {
    const path = request.path.replace(/\/$/, "");
    if (path === CONFIGURATION_PATH) {
      return getOnly(request, cached(JSON_TYPE, documents.configuration), [JSON_TYPE]);
    }
    if (path !== KEYS_PATH) return undefined;
    return getOnly(request, cached(KEYS_TYPE, documents.keys), [KEYS_TYPE]);
  };
}
