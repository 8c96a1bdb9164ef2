/**
 * The connections and the credentials of one user of an API server, for everything that sends HTTP
 * requests as that user.
 *
 * Promises:
 * 1. `prepare` returns credentials that are current: renewed tokens and certificates are taken up.
 * 2. Watches and upgraded connections never take the sockets that short requests need.
 * 3. Both pools are bounded.
 */
import { Agent, type AgentOptions } from "node:https";
import { messageOf } from "#lib/caught.ts";
import type { TlsOptions } from "#lib/http2/connect-http2.ts";
import type { Credentials } from "./exec-credentials.ts";
import type { Connection } from "./kubeconfig.ts";
import { TransportError } from "./transport.ts";

const SOCKETS_MAX = 64;
const WATCHES_MAX = 1_000;

export type ConnectionUse = "requests" | "watches";

export interface PreparedRequest {
  readonly agent: Agent;
  /** For a connection that is not the agent's. The same object while the identity is the same. */
  readonly tls: TlsOptions;
  /** The value of the header, if the user has a token or a password. */
  readonly authorization: string | undefined;
}

export class AuthenticatedAgents implements Disposable {
  readonly #connection: Connection;
  #agents: Agents;

  constructor(connection: Connection) {
    this.#connection = connection;
    const { clientCertificate: cert, clientKey: key } = connection;
    this.#agents = agentsFor(connection, cert, key);
  }

  [Symbol.dispose](): void {
    this.#agents.end();
  }

  async prepare(use: ConnectionUse): Promise<PreparedRequest> {
    const { username, password } = this.#connection;
    const given = await this.#credentials();
    const token = given?.token ?? (await this.#connection.token?.());
    const bearer = token === undefined ? undefined : `Bearer ${token}`;
    const authorization = username === undefined ? bearer : basic(username, password ?? "");
    return { agent: this.#agents[use], tls: this.#agents.tls, authorization };
  }

  /** Must be called when the server answers 401: credentials are asked for again. */
  refused(): void {
    this.#connection.credentials?.forget();
  }

  /** What a program or a file hands out; another certificate needs other connections. */
  async #credentials(): Promise<Credentials | undefined> {
    let given: Credentials | undefined;
    try {
      given = await this.#connection.credentials?.get();
    } catch (error) {
      throw new TransportError(messageOf(error), { cause: error });
    }
    const { certPem, keyPem } = given?.certificate ?? {};
    if (certPem !== undefined && certPem !== this.#agents.certificate) {
      this.#agents.end();
      this.#agents = agentsFor(this.#connection, certPem, keyPem);
    }
    return given;
  }
}

/** The connections of one identity. */
interface Agents {
  readonly requests: Agent;
  readonly watches: Agent;
  readonly certificate: string | undefined;
  readonly tls: TlsOptions;
  end(): void;
}

function agentsFor(
  { ca, serverName, insecure }: Connection,
  cert: string | undefined,
  key: string | undefined,
): Agents {
  const tls: AgentOptions = {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(serverName === undefined ? {} : { servername: serverName }),
    rejectUnauthorized: insecure !== true,
  };
  const pooled: AgentOptions = { keepAlive: true, maxSockets: SOCKETS_MAX, scheduling: "lifo" };
  const requests = new Agent({ ...tls, ...pooled });
  const watches = new Agent({ ...tls, maxSockets: WATCHES_MAX });
  const end = (): void => {
    requests.destroy();
    watches.destroy();
  };
  const identity: TlsOptions = {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(serverName === undefined ? {} : { serverName }),
    insecure: insecure === true,
    offersHttp1: true,
  };
  return { requests, watches, certificate: cert, tls: identity, end };
}

function basic(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
}
