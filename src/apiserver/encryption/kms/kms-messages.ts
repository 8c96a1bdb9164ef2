/**
 * Messages of KMS v2: the calls of a plugin (package v2, KeyManagementService) and the envelope that is
 * stored in place of an object. Names and numbers are those of the public protocol.
 */
import { type Codec, defineMessage } from "#lib/protobuf/message.ts";

export interface Annotation {
  key: string;
  value: Uint8Array;
}
const annotation = defineMessage<Annotation>({ key: [1, "text"], value: [2, "bytes"] });

export interface StatusResponse {
  version: string;
  healthz: string;
  keyId: string;
}

export interface EncryptRequest {
  plaintext: Uint8Array;
  uid: string;
}

export interface EncryptResponse {
  ciphertext: Uint8Array;
  keyId: string;
  annotations: Annotation[];
}

export interface DecryptRequest {
  ciphertext: Uint8Array;
  uid: string;
  keyId: string;
  annotations: Annotation[];
}

export interface DecryptResponse {
  plaintext: Uint8Array;
}

export interface KmsMethod<Request, Response> {
  readonly path: string;
  readonly request: Codec<Request>;
  readonly response: Codec<Response>;
}

export const STATUS: KmsMethod<object, StatusResponse> = {
  path: "/v2.KeyManagementService/Status",
  request: defineMessage<object>({}),
  response: defineMessage<StatusResponse>({
    version: [1, "text"],
    healthz: [2, "text"],
    keyId: [3, "text"],
  }),
};

export const ENCRYPT: KmsMethod<EncryptRequest, EncryptResponse> = {
  path: "/v2.KeyManagementService/Encrypt",
  request: defineMessage<EncryptRequest>({ plaintext: [1, "bytes"], uid: [2, "text"] }),
  response: defineMessage<EncryptResponse>({
    ciphertext: [1, "bytes"],
    keyId: [2, "text"],
    annotations: [3, { many: annotation }],
  }),
};

export const DECRYPT: KmsMethod<DecryptRequest, DecryptResponse> = {
  path: "/v2.KeyManagementService/Decrypt",
  request: defineMessage<DecryptRequest>({
    ciphertext: [1, "bytes"],
    uid: [2, "text"],
    keyId: [3, "text"],
    annotations: [4, { many: annotation }],
  }),
  response: defineMessage<DecryptResponse>({ plaintext: [1, "bytes"] }),
};

/** How the plain form of `encryptedSource` leads to the key that the data is encrypted with. */
export const SOURCE_TYPE = { aesGcmKey: 0, hkdfSeed: 1 } as const;

/** What is stored: the data, and the key that it was encrypted with, itself encrypted by the plugin. */
export interface EncryptedObject {
  data: Uint8Array;
  keyId: string;
  encryptedSource: Uint8Array;
  annotations: Annotation[];
  sourceType: number;
}

export const encryptedObject = defineMessage<EncryptedObject>({
  data: [1, "bytes"],
  keyId: [2, "text"],
  encryptedSource: [3, "bytes"],
  annotations: [4, { many: annotation }],
  sourceType: [5, "int"],
});
