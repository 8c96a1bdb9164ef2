/**
 * One client for each controller over one connection's address: as its service account or as the
 * user of the connection, each with its own rate limit.
 */
import { AccountTokens } from "#client/account-tokens.ts";
import { Client } from "#client/client.ts";
import type { Connection } from "#client/kubeconfig.ts";
import { limitedTransport, type RateLimit } from "#client/rate-limit.ts";
import type { Transport } from "#client/transport.ts";
import { accountOf } from "#controllers/registry/accounts.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";

const NAMESPACE = "kube-system";

export interface AccountClientsOptions {
  readonly connection: Connection;
  readonly clock: Clock;
  readonly random: Random;
  readonly fieldManager: string;
  /** Let controllers act as their service accounts. */
  readonly useAccounts: boolean;
  /** Reaches the server with what the connection says. */
  open(connection: Connection): OpenTransport;
  /** Of the named one; undefined: none. */
  limitFor(client: string): RateLimit | undefined;
}

type OpenTransport = Transport & Disposable;

export class AccountClients implements Disposable {
  readonly #options: AccountClientsOptions;
  readonly #own: OpenTransport;
  readonly #tokens: AccountTokens;
  readonly #accounts = new Map<string, OpenTransport>();
  readonly #clients = new Map<string, Client>();

  constructor(options: AccountClientsOptions) {
    this.#options = options;
    this.#own = options.open(options.connection);
    this.#tokens = new AccountTokens(this.create("tokens"), options.clock);
  }

  /** Another client of the connection itself. */
  create(name: string): Client {
    return this.#over(this.#own, name);
  }

  clientFor(controller: string): Client {
    let client = this.#clients.get(controller);
    if (client === undefined) {
      client = this.#over(this.#transportFor(controller), controller);
      this.#clients.set(controller, client);
    }
    return client;
  }

  #over(transport: Transport, name: string): Client {
    const { clock, random, fieldManager, limitFor } = this.#options;
    const limited = limitedTransport(transport, limitFor(name), clock);
    return new Client({ transport: limited, clock, random, fieldManager });
  }

  #transportFor(controller: string): OpenTransport {
    const { useAccounts, connection: own, open } = this.#options;
    const account = useAccounts ? accountOf(controller) : undefined;
    if (account === undefined) return this.#own;
    let transport = this.#accounts.get(account);
    if (transport === undefined) {
      const { server, ca, insecure, serverName } = own;
      const connection: Connection = {
        server,
        ...(ca === undefined ? {} : { ca }),
        ...(insecure === undefined ? {} : { insecure }),
        ...(serverName === undefined ? {} : { serverName }),
        token: () => this.#tokens.token(NAMESPACE, account),
      };
      transport = open(connection);
      this.#accounts.set(account, transport);
    }
    return transport;
  }

  [Symbol.dispose](): void {
    this.#own[Symbol.dispose]();
    for (const transport of this.#accounts.values()) transport[Symbol.dispose]();
  }
}
