/**
 * Fills Secrets of service account tokens with token, authority and namespace, and deletes those
 * whose account is gone.
 */

import type { Secret, ServiceAccount } from "#api/generated/core.v1.ts";
import { secretKind } from "#api/kinds/core/v1/config/secret.ts";
import { serviceAccountKind } from "#api/kinds/core/v1/service-account.ts";
import {
  type Caches,
  type Controller,
  defineController,
  idle,
  type Key,
  type Outcome,
  ownKey,
  type Reader,
} from "#runtime/controller.ts";
import { remove, update } from "#runtime/writes.ts";
import { ACCOUNT_NAME, ACCOUNT_UID, isAccountToken, isTokenOf } from "./token-secret.ts";

export interface AccountTokens {
  readonly rootCa?: string;
  /** A token of these claims, signed with the key of service accounts. */
  sign(claims: Readonly<Record<string, string>>): string;
}

/** What a Secret that was there belonged to. */
interface Owner {
  readonly account: string;
  readonly uid: string;
}

interface State {
  readonly name: string;
  readonly secret: Secret | undefined;
  readonly account: ServiceAccount | undefined;
  readonly owner: Owner | undefined;
  /** Made only if the Secret has none. */
  readonly token: string | undefined;
}

export function serviceAccountTokens(options: AccountTokens): Controller<State, Owner> {
  return defineController<State, Owner>({
    name: "serviceaccount-token-controller",
    rule: "a token Secret holds a token of its ServiceAccount, and goes with it",
    feeds: [
      {
        kind: secretKind,
        keys: (secret: Secret) => (isAccountToken(secret) ? ownKey(secret) : []),
      },
      { kind: serviceAccountKind, keys: keysOfAccount },
    ],
    observe: (caches, key, reader, owner) => observe(caches, key, reader, owner, options),
    decide: (state) => decide(state, options.rootCa),
  });
}

function keysOfAccount(account: ServiceAccount, caches: Caches): readonly Key[] {
  return [...caches(secretKind).list(account.metadata.namespace)]
    .filter((secret) => isAccountToken(secret) && nameOf(secret) === account.metadata.name)
    .flatMap(ownKey);
}

async function observe(
  caches: Caches,
  { namespace, name }: Key,
  reader: Reader,
  owner: Owner | undefined,
  options: AccountTokens,
): Promise<State> {
  const found = caches(secretKind).get(namespace, name);
  const secret = found !== undefined && isAccountToken(found) ? found : undefined;
  const accountName = secret === undefined ? owner?.account : nameOf(secret);
  if (accountName === undefined || accountName === "") {
    return { name, secret: undefined, account: undefined, owner, token: undefined };
  }
  const cached = caches(serviceAccountKind).get(namespace, accountName);
  if (secret === undefined) return { name, secret, account: cached, owner, token: undefined };
  // The account may be so new that only the server knows it.
  const account = isTokenOf(secret, cached)
    ? cached
    : await fetchAccount(reader, { namespace, name: accountName });
  const needsToken = isTokenOf(secret, account) && (secret.data?.token ?? "") === "";
  const token = needsToken ? options.sign(claimsOf(account!, secret)) : undefined;
  return { name, secret, account, owner, token };
}

async function fetchAccount(reader: Reader, key: Key): Promise<ServiceAccount | undefined> {
  const answer = await reader.get(serviceAccountKind, key);
  if (answer.ok) return answer.value;
  if (answer.status.reason === "NotFound") return undefined;
  throw new Error(answer.status.message);
}

function claimsOf(account: ServiceAccount, secret: Secret): Readonly<Record<string, string>> {
  const { namespace = "", name = "", uid = "" } = account.metadata;
  const prefix = "kubernetes.io/serviceaccount";
  return {
    iss: "kubernetes/serviceaccount",
    [`${prefix}/namespace`]: namespace,
    [`${prefix}/secret.name`]: secret.metadata.name ?? "",
    [`${prefix}/service-account.name`]: name,
    [`${prefix}/service-account.uid`]: uid,
    sub: `system:serviceaccount:${namespace}:${name}`,
  };
}

function decide(state: State, rootCa: string | undefined): Outcome<Owner> {
  const { secret, account, token } = state;
  if (secret === undefined) return { ...withoutReference(state), remember: undefined };
  if (secret.metadata.deletionTimestamp !== undefined) return idle;
  if (!isTokenOf(secret, account)) {
    return { writes: [remove(secretKind, secret)], remember: undefined };
  }
  const { name = "", uid = "" } = account!.metadata;
  const remember: Owner = { account: name, uid };
  const { data = {}, metadata } = secret;
  const missing = {
    ...(rootCa !== undefined && data["ca.crt"] !== btoa(rootCa) ? { "ca.crt": btoa(rootCa) } : {}),
    ...((data.namespace ?? "") === "" ? { namespace: btoa(metadata.namespace ?? "") } : {}),
    ...(token === undefined ? {} : { token: btoa(token) }),
  };
  if (Object.keys(missing).length === 0) return { remember };
  const annotations = { ...metadata.annotations, [ACCOUNT_NAME]: name, [ACCOUNT_UID]: uid };
  const filled: Secret = {
    ...secret,
    metadata: { ...metadata, annotations },
    data: { ...data, ...missing },
  };
  return { writes: [update(secretKind, filled)], remember };
}

/** An account does not go on naming a Secret that is gone. */
function withoutReference({ name, account, owner }: State): Outcome {
  if (account === undefined || account.metadata.uid !== owner?.uid) return idle;
  const secrets = (account.secrets ?? []).filter((reference) => reference.name !== name);
  if (secrets.length === (account.secrets ?? []).length) return idle;
  return { writes: [update(serviceAccountKind, { ...account, secrets })] };
}

function nameOf({ metadata }: Secret): string {
  return metadata.annotations?.[ACCOUNT_NAME] ?? "";
}
