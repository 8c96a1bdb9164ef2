/**
 * A request as the server sees it, whatever brought it: HTTP/1.1, HTTP/2, or a direct call from a
 * client in the same process. All of them go through the same chain, which handler.ts describes.
 */
import type { YamlAsJson } from "#api/codec/yaml.ts";
import type { KubeObject } from "#api/kind.ts";

/** The authenticated user. */
export interface User {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** What path and query request; the body is not considered. */
export interface RequestInfo {
  readonly isResource: boolean;
  /** The API verb (`get list watch create update patch delete deletecollection`), or the method in lower case. */
  readonly verb: string;
  readonly path: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** Path segments after the name and subresource, for proxies. */
  readonly rest: readonly string[];
}

export interface ApiRequest {
  readonly method: string;
  /** Decoded path without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Path and query as they were sent, for proxies. */
  readonly rawUrl?: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Names and values in turn, as they came, for headers that may come several times. */
  readonly rawHeaders?: readonly string[];
  /** Names the request in the audit log and to the client; what it brought, or one of ours. */
  readonly auditId?: string;
  /** None until `receiveBody`, if there is such a function. */
  readonly body: RequestBody;
  /** Called when the request was authenticated, unless as system:anonymous. */
  authenticated?(): void;
  /**
   * Reads the body of a request that came over HTTP. Called after authorization, so that unauthorized
   * clients cannot make the server hold a body. False: the client disconnected.
   */
  receiveBody?(): Promise<boolean>;
  /** What the connection itself proves: the verified client certificate, the address. */
  readonly peer: Peer;
  /** Aborts when the client disconnects or the server shuts down. */
  readonly signal: AbortSignal;
}

export type RequestBody =
  | { readonly form: "none" }
  | {
      readonly form: "bytes";
      readonly bytes: Uint8Array;
      /** Of large YAML, converted before it is decoded. */
      readonly yaml?: YamlAsJson;
    }
  /** Over the limit of bytes, or over the named limit of the decoder. */
  | { readonly form: "too-long"; readonly limit?: string }
  /** The body of a proxy request is streamed, not read. */
  | { readonly form: "stream"; readonly stream: NodeJS.ReadableStream }
  /** In-process callers hand over the object itself; it is never changed. */
  | { readonly form: "object"; readonly object: KubeObject };

export interface Peer {
  readonly address: string;
  /** In-process callers are trusted with the user that they name. */
  readonly user?: User;
  readonly certificate?: PeerCertificate;
  /** Why the client's certificate is not trusted. */
  readonly certificateFault?: string;
}

/** A client certificate whose chain was verified against the client CA. */
export interface PeerCertificate {
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** Of the user, if the certificate names it. */
  readonly uid?: string;
  /** Connections outlive certificates. */
  readonly notAfterMs: number;
  /** SHA-256 of the DER form, in hex. */
  readonly fingerprint: string;
  /** Signed by the authority of front proxies. */
  readonly frontProxy: boolean;
  /** Signed by the authority of clients. */
  readonly client: boolean;
}
