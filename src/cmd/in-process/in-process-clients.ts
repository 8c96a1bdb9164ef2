/**
 * The clients of controllers that run beside the API server: one for what they share, and one for
 * each service account that they act as, so that each may do what its role says and no more.
 */
import type { User } from "#apiserver/request/request.ts";
import { Client } from "#client/client.ts";
import type { Transport } from "#client/transport.ts";
import { accountOf } from "#controllers/registry/accounts.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";

const FIELD_MANAGER = "kube-controller-manager";

const CONTROLLER_MANAGER: User = {
  name: "system:kube-controller-manager",
  groups: ["system:authenticated"],
};

/** For the few controllers that have no account. */
const ADMIN: User = { name: "system:admin", groups: ["system:masters", "system:authenticated"] };

export interface InProcessClientsOptions {
  transportAs(user: User, userAgent: string): Transport;
  readonly clock: Clock;
  readonly random: Random;
}

export interface InProcessClients {
  /** The controller manager itself: it watches and writes events. */
  readonly client: Client;
  clientFor(controller: string): Client;
}

export function inProcessClients(options: InProcessClientsOptions): InProcessClients {
  const { transportAs, clock, random } = options;
  const as = (user: User): Client => {
    const transport = transportAs(user, FIELD_MANAGER);
    return new Client({ transport, clock, random, fieldManager: FIELD_MANAGER });
  };
  const clients = new Map<string, Client>();
  const admin = as(ADMIN);
  return {
    client: as(CONTROLLER_MANAGER),
    clientFor: (controller) => {
      const account = accountOf(controller);
      if (account === undefined) return admin;
      const own = clients.get(account) ?? as(accountUser(account));
      clients.set(account, own);
      return own;
    },
  };
}

function accountUser(account: string): User {
  return {
    name: `system:serviceaccount:kube-system:${account}`,
    groups: [
      "system:serviceaccounts",
      "system:serviceaccounts:kube-system",
      "system:authenticated",
    ],
  };
}
