/** Names and groups that the system itself gives out. */
import { isDns1123Label, isDns1123Subdomain } from "#api/validation/names.ts";
import type { User } from "../request/request.ts";

export const AUTHENTICATED = "system:authenticated";
export const UNAUTHENTICATED = "system:unauthenticated";
export const CREDENTIAL_ID = "authentication.kubernetes.io/credential-id";

export const anonymousUser: User = { name: "system:anonymous", groups: [UNAUTHENTICATED] };

/** The same user with the group that everyone who is known belongs to. */
export function authenticated(user: User): User {
  if (user.name === anonymousUser.name) return user;
  if (user.groups.includes(AUTHENTICATED) || user.groups.includes(UNAUTHENTICATED)) return user;
  return { ...user, groups: [...user.groups, AUTHENTICATED] };
}

const SERVICE_ACCOUNT = "system:serviceaccount:";

export function serviceAccountUserName(namespace: string, name: string): string {
  return `${SERVICE_ACCOUNT}${namespace}:${name}`;
}

export function serviceAccountGroups(namespace: string): string[] {
  return ["system:serviceaccounts", `system:serviceaccounts:${namespace}`];
}

export interface ServiceAccountName {
  readonly namespace: string;
  readonly name: string;
}

/** Undefined for everyone who is no service account. */
export function splitServiceAccount(userName: string): ServiceAccountName | undefined {
  if (!userName.startsWith(SERVICE_ACCOUNT)) return undefined;
  const [namespace = "", name = "", ...rest] = userName.slice(SERVICE_ACCOUNT.length).split(":");
  const valid = isDns1123Label(namespace).length === 0 && isDns1123Subdomain(name).length === 0;
  return rest.length === 0 && valid ? { namespace, name } : undefined;
}

const NODE = "system:node:";

/** The node that a user name stands for, whatever groups the user has. */
export function nodeOfUserName(userName: string): string | undefined {
  if (!userName.startsWith(NODE)) return undefined;
  const name = userName.slice(NODE.length);
  return isDns1123Subdomain(name).length === 0 ? name : undefined;
}
