/** One client for each service account that controllers act as, over one connection's address. */
import { AccountTokens } from "#client/account-tokens.ts";
import { Client } from "#client/client.ts";
import { HttpsTransport } from "#client/https-transport.ts";
import type { Connection } from "#client/kubeconfig.ts";
import { accountOf } from "#controllers/accounts.ts";
import type { Clock } from "#lib/clock.ts";
import type { Random } from "#lib/random.ts";

const NAMESPACE = "kube-system";

export class AccountClients implements Disposable {
  readonly #base: Client;
  readonly #connection: Connection;
  readonly #options: {
    readonly clock: Clock;
    readonly random: Random;
    readonly fieldManager: string;
  };
  readonly #tokens: AccountTokens;
  readonly #transports: HttpsTransport[] = [];
  readonly #clients = new Map<string, Client>();

  /** `base` asks for the tokens. */
  constructor(
    base: Client,
    connection: Connection,
    options: { readonly clock: Clock; readonly random: Random; readonly fieldManager: string },
  ) {
    this.#base = base;
    this.#connection = connection;
    this.#options = options;
    this.#tokens = new AccountTokens(base, options.clock);
  }

  clientFor(controller: string): Client {
    const account = accountOf(controller);
    if (account === undefined) return this.#base;
    let client = this.#clients.get(account);
    if (client === undefined) {
      const { server, ca, insecure, serverName } = this.#connection;
      const connection: Connection = {
        server,
        ...(ca === undefined ? {} : { ca }),
        ...(insecure === undefined ? {} : { insecure }),
        ...(serverName === undefined ? {} : { serverName }),
        token: () => this.#tokens.token(NAMESPACE, account),
      };
      const transport = new HttpsTransport(connection, this.#options.fieldManager);
      this.#transports.push(transport);
      client = new Client({ transport, ...this.#options });
      this.#clients.set(account, client);
    }
    return client;
  }

  [Symbol.dispose](): void {
    for (const transport of this.#transports) transport[Symbol.dispose]();
  }
}
