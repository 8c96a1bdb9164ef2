/**
 * Impersonation by `Impersonate-…` headers.
 *
 * Two grants are known. The old one, `impersonate` on users, groups, uids and extras, allows anything
 * that the other may do. A constrained one allows to impersonate (`impersonate:<mode>`) in certain
 * requests only (`impersonate-on:<mode>:<verb>`). Constrained modes are tried first; if none of all
 * allows it, the first refusal is the answer.
 */
import type { Status } from "#api/generated/meta.v1.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { badRequestStatus } from "#api/meta/status.ts";
import { validateDomainPrefixedPath } from "#api/validation/domain-prefixed.ts";
import { formatFieldErrors } from "#api/validation/format-field-error.ts";
import { Path } from "#api/validation/path.ts";
import type { MaybePromise } from "#lib/async/maybe-promise.ts";
import type { AccessAttributes, Authorizer } from "../authz/authorizer.ts";
import { SYSTEM_MASTERS } from "../authz/chain.ts";
import { accessDeniedStatus } from "../authz/forbidden.ts";
import type { ApiRequest, User } from "../request/request.ts";
import { headerValues, keyedHeaders } from "./headers.ts";
import {
  AUTHENTICATED,
  anonymousUser,
  nodeOfUserName,
  serviceAccountGroups,
  splitServiceAccount,
  UNAUTHENTICATED,
} from "./users.ts";

export type Impersonation =
  | { readonly outcome: "none" }
  | { readonly outcome: "allowed"; readonly user: User; readonly constraint: string }
  | { readonly outcome: "refused"; readonly status: Status };

/** Whom the headers name, before anything was added or checked. */
interface Wanted {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: ReadonlyMap<string, readonly string[]>;
}

const EXTRA_PREFIX = "impersonate-extra-";

const REMEMBERED_MAX = 10_000;

/**
 * Which kind of grant last allowed each user to impersonate: it is tried first the next time, and its
 * refusal is the one that is returned.
 */
export class LastModes {
  readonly #byUser = new Map<string, Mode>();

  /** All modes, in the order in which they are tried for this user. */
  inOrder(user: string): readonly Mode[] {
    const last = this.#byUser.get(user);
    return last === undefined ? MODES : [last, ...MODES.filter((mode) => mode !== last)];
  }

  set(user: string, mode: Mode): void {
    this.#byUser.delete(user);
    this.#byUser.set(user, mode);
    if (this.#byUser.size > REMEMBERED_MAX) {
      this.#byUser.delete(this.#byUser.keys().next().value!);
    }
  }
}

/** `own` describes the request as the caller's own. */
export function impersonate(
  request: ApiRequest,
  own: () => AccessAttributes,
  authorizer: Authorizer,
  last: LastModes,
): MaybePromise<Impersonation> {
  const wanted = readHeaders(request);
  return wanted === undefined ? NOBODY_ELSE : actAs(wanted, own(), authorizer, last);
}

const NOBODY_ELSE: Impersonation = { outcome: "none" };

async function actAs(
  wanted: Wanted,
  attributes: AccessAttributes,
  authorizer: Authorizer,
  last: LastModes,
): Promise<Impersonation> {
  if (wanted.name === "") {
    const message = `requested ${goSyntax(wanted)} without impersonating a user name`;
    return { outcome: "refused", status: badRequestStatus(message) };
  }
  let firstRefusal: Status | undefined;
  for (const mode of last.inOrder(attributes.user.name)) {
    if (!mode.applies(wanted, attributes.user)) continue;
    const refusal = await check(mode, wanted, attributes, authorizer);
    if (refusal === undefined) {
      last.set(attributes.user.name, mode);
      const constraint = mode.constrained ? mode.verb : "";
      return { outcome: "allowed", user: impersonatedUser(mode, wanted), constraint };
    }
    firstRefusal ??= refusal;
  }
  return { outcome: "refused", status: firstRefusal! };
}

/** Most requests have no such header, and must not pay for it. */
function readHeaders(request: ApiRequest): Wanted | undefined {
  const { headers } = request;
  if (!hasImpersonation(headers)) return undefined;
  const extra = keyedHeaders(request, EXTRA_PREFIX);
  const wanted: Wanted = {
    name: headerValues(request, "impersonate-user")[0] ?? "",
    uid: headerValues(request, "impersonate-uid")[0] ?? "",
    groups: headerValues(request, "impersonate-group"),
    extra,
  };
  const { name, uid, groups } = wanted;
  return name === "" && uid === "" && groups.length === 0 && extra.size === 0 ? undefined : wanted;
}

function hasImpersonation(headers: ApiRequest["headers"]): boolean {
  for (const name in headers) if (name.startsWith("impersonate-")) return true;
  return false;
}

interface Mode {
  readonly name: string;
  readonly verb: string;
  readonly constrained: boolean;
  applies(wanted: Wanted, requestor: User): boolean;
}

const onlyName = ({ uid, groups, extra }: Wanted): boolean =>
  uid === "" && groups.length === 0 && extra.size === 0;

const NODE_NAME_EXTRA = "authentication.kubernetes.io/node-name";

const MODES: readonly Mode[] = [
  constrainedMode("associated-node", (wanted, requestor) => {
    const node = nodeOfUserName(wanted.name);
    const own = requestor.extra?.[NODE_NAME_EXTRA];
    const account = splitServiceAccount(requestor.name);
    return onlyName(wanted) && node !== undefined && account !== undefined && own?.[0] === node;
  }),
  constrainedMode(
    "arbitrary-node",
    (wanted) => onlyName(wanted) && nodeOfUserName(wanted.name) !== undefined,
  ),
  constrainedMode(
    "serviceaccount",
    (wanted) => onlyName(wanted) && splitServiceAccount(wanted.name) !== undefined,
  ),
  constrainedMode(
    "user-info",
    ({ name }) => nodeOfUserName(name) === undefined && splitServiceAccount(name) === undefined,
  ),
  { name: "legacy", verb: "impersonate", constrained: false, applies: () => true },
];

function constrainedMode(name: string, applies: Mode["applies"]): Mode {
  return { name, verb: `impersonate:${name}`, constrained: true, applies };
}

/** Every permission that acting as this user in this way needs; the first refusal. */
async function check(
  mode: Mode,
  wanted: Wanted,
  attributes: AccessAttributes,
  authorizer: Authorizer,
): Promise<Status | undefined> {
  const requestor =
    mode.name === "associated-node" ? withoutExtra(attributes.user) : attributes.user;
  const questions: AccessAttributes[] = [];
  if (mode.constrained) {
    const verb = `impersonate-on:${mode.name}:${attributes.verb}`;
    questions.push({ ...attributes, user: requestor, verb });
  }
  questions.push(nameQuestion(mode, wanted.name, requestor));
  const ask = (
    resource: string,
    name: string,
    changes: Partial<AccessAttributes> = {},
  ): AccessAttributes => question(mode, requestor, resource, name, AUTHENTICATION, changes);
  if (wanted.uid !== "") questions.push(ask("uids", wanted.uid));
  const home = mode.constrained ? AUTHENTICATION : CORE;
  for (const group of wanted.groups) {
    questions.push(question(mode, requestor, "groups", group, home));
  }
  for (const [key, values] of wanted.extra) {
    for (const value of values) questions.push(ask("userextras", value, { subresource: key }));
  }

  for (const attributesOfOne of questions) {
    const forbidden = mode.constrained ? neverAllowed(attributesOfOne) : undefined;
    if (forbidden !== undefined) return accessDeniedStatus(attributesOfOne, forbidden);
    const { decision, reason } = await authorizer.authorize(attributesOfOne);
    if (decision !== "allow") return accessDeniedStatus(attributesOfOne, reason);
  }
  return undefined;
}

const CORE = { group: "", version: "v1" };
const AUTHENTICATION = { group: "authentication.k8s.io", version: "v1" };

function question(
  { verb }: Mode,
  user: User,
  resource: string,
  name: string,
  home: typeof CORE,
  changes: Partial<AccessAttributes> = {},
): AccessAttributes {
  const where = { path: "", subresource: "", namespace: "" };
  return { user, isResource: true, verb, ...home, resource, name, ...where, ...changes };
}

function nameQuestion(mode: Mode, userName: string, requestor: User): AccessAttributes {
  const home = mode.constrained ? AUTHENTICATION : CORE;
  const account = splitServiceAccount(userName);
  if (account !== undefined) {
    const { namespace, name } = account;
    return question(mode, requestor, "serviceaccounts", name, home, { namespace });
  }
  const node = mode.constrained ? nodeOfUserName(userName) : undefined;
  if (node !== undefined) {
    const name = mode.name === "associated-node" ? "*" : node;
    return question(mode, requestor, "nodes", name, home);
  }
  return question(mode, requestor, "users", userName, home);
}

/** What constrained impersonation refuses to everyone. */
function neverAllowed({ verb, resource, subresource, name }: AccessAttributes): string | undefined {
  if (verb.startsWith("impersonate-on:")) return undefined;
  if (resource === "groups" && name === "") {
    return "impersonating the empty string group is not allowed";
  }
  if (resource === "groups" && name === SYSTEM_MASTERS) {
    return "impersonating the system:masters group is not allowed";
  }
  if (resource !== "userextras") return undefined;
  if (subresource === "") return "impersonating the empty string key in extra is not allowed";
  const faults = validateDomainPrefixedPath(subresource, Path.of("extra", "key"));
  if (faults.length > 0) {
    return `impersonating an invalid key in extra is not allowed: ${formatFieldErrors(faults)}`;
  }
  return name === "" ? "impersonating the empty string value in extra is not allowed" : undefined;
}

function impersonatedUser(mode: Mode, { name, uid, groups: given, extra }: Wanted): User {
  const account = splitServiceAccount(name);
  const node = mode.constrained && nodeOfUserName(name) !== undefined;
  let groups = node ? ["system:nodes"] : [...given];
  if (account !== undefined && given.length === 0) groups = serviceAccountGroups(account.namespace);
  const everyone = name === anonymousUser.name ? UNAUTHENTICATED : AUTHENTICATED;
  if (!groups.includes(UNAUTHENTICATED) && !groups.includes(everyone)) groups.push(everyone);
  return {
    name,
    groups,
    ...(uid === "" ? {} : { uid }),
    ...(extra.size === 0 ? {} : { extra: Object.fromEntries(extra) }),
  };
}

/** Cache key without the values of extra: an account gets the same decision on all its nodes. */
function withoutExtra(user: User): User {
  const keys = Object.keys(user.extra ?? {}).sort();
  return { ...user, extra: { "authentication.kubernetes.io/associated-node-keys": keys } };
}

/** As Go prints the value, which is what clients see in the message. */
function goSyntax({ name, uid, groups, extra }: Wanted): string {
  const list = (values: readonly string[]): string =>
    `[]string${values.length === 0 ? "(nil)" : `{${values.map(goQuote).join(", ")}}`}`;
  const entries = [...extra].map(([key, values]) => `${goQuote(key)}:${list(values)}`);
  const map = entries.length === 0 ? "(nil)" : `{${entries.join(", ")}}`;
  return (
    `&user.DefaultInfo{Name:${goQuote(name)}, UID:${goQuote(uid)}, Groups:${list(groups)}, ` +
    `Extra:map[string][]string${map}}`
  );
}
