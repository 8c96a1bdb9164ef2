/** Who may do what: authentication, impersonation and authorization put together from options. */
import type { Status } from "#api/generated/meta.v1.ts";
import { internalErrorStatus, unauthorizedStatus } from "#api/meta/status.ts";
import { andThen, type MaybePromise } from "#lib/async/maybe-promise.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { Audit, type AuditOptions, type AuditTrail } from "../audit/audit.ts";
import type { Authentication, AuthenticationNotes, Authenticator } from "../authn/authenticator.ts";
import { createBearerAuthenticator } from "../authn/bearer.ts";
import { createBootstrapTokenAuthenticator } from "../authn/bootstrap-tokens.ts";
import { type AnonymousOptions, chainAuthenticators } from "../authn/chain.ts";
import { credentialHeaders, type IsCredentialHeader } from "../authn/credential-headers.ts";
import { createFrontProxyAuthenticator, type FrontProxyOptions } from "../authn/front-proxy.ts";
import { type Impersonation, impersonate, LastModes } from "../authn/impersonation.ts";
import { createIssuers, type IssuerSettings, type Issuers } from "../authn/issuers.ts";
import { createServiceAccountTokenAuthenticator } from "../authn/service-account-tokens.ts";
import { type TokenAuthenticator, unionTokens } from "../authn/token-authenticator.ts";
import { createTokenFileAuthenticator } from "../authn/token-file.ts";
import { createTokenIssuer, type IssueToken } from "../authn/token-request.ts";
import { createTokenWebhook, type TokenWebhookOptions } from "../authn/token-webhook.ts";
import { createX509Authenticator } from "../authn/x509.ts";
import { accessAttributes } from "../authz/attributes.ts";
import type { AccessAttributes, Authorizer } from "../authz/authorizer.ts";
import { type AccessModes, type Authorizers, createAuthorizers } from "../authz/authorizers.ts";
import { accessDeniedStatus } from "../authz/forbidden.ts";
import type { RbacRules } from "../authz/rbac-rules.ts";
import type { ConcurrencyLimiter } from "../flow/concurrency-limiter.ts";
import { FlowControl, type FlowControlOptions } from "../flow/flow-control.ts";
import { createMaxInFlight, type MaxInFlightOptions } from "../flow/max-in-flight.ts";
import type { Objects } from "../storage/objects.ts";
import type { ApiRequest, RequestInfo, User } from "./request.ts";

export interface SecurityOptions {
  readonly modes: AccessModes;
  readonly tokenWebhook?: Omit<TokenWebhookOptions, "clock" | "audiences">;
  readonly anonymous: AnonymousOptions;
  readonly bootstrapTokens: boolean;
  /** Names of features that are off by default and on here. */
  readonly features?: readonly string[];
  readonly tokenFile?: { readonly path: string; readonly text: string };
  readonly frontProxy?: FrontProxyOptions;
  readonly oidc: IssuerSettings;
  readonly serviceAccounts: ServiceAccountOptions;
  /** Fairness between users, or mere limits; without either everything runs at once. */
  readonly flow?: Omit<FlowControlOptions, "clock"> | MaxInFlightOptions;
  readonly audit?: Pick<AuditOptions, "policy" | "write" | "waits">;
  readonly clock: Clock;
  readonly random: Random;
}

export interface ServiceAccountOptions {
  /** PEM keys, public or private, whose tokens are accepted. */
  readonly keys: readonly string[];
  readonly signingKeyPem: string;
  /** The first signs. */
  readonly issuers: readonly string[];
  readonly audiences: readonly string[];
  readonly expirationSecondsMax: number;
  readonly extendExpiration: boolean;
  /** The jwks_uri, if the keys are not served here. */
  readonly keysUrl?: string;
}

/** The effective user, and the original one if the request impersonates. */
export interface KnownIdentity {
  readonly user: User;
  readonly impersonator?: User;
  readonly constraint?: string;
  readonly notes?: AuthenticationNotes;
}

export type Identity =
  | KnownIdentity
  /** Refused: not authenticated, or not allowed to impersonate. */
  | { readonly status: Status; readonly refused: User | undefined };

/** What may change while the server runs. */
export interface Replacements {
  readonly issuers: Issuers["replace"];
  readonly authorizers: Authorizers["replace"];
}

export interface RequestSecurity {
  /** Requests under way keep those that they were begun with. */
  readonly replace: Replacements;
  authenticate(request: ApiRequest, info: RequestInfo): MaybePromise<Identity>;
  authorize(
    request: ApiRequest,
    info: RequestInfo,
    user: User,
    trail?: Pick<AuditTrail, "annotate">,
  ): MaybePromise<Status | undefined>;
  readonly flow?: ConcurrencyLimiter;
  readonly audit?: Audit;
  readonly authorizer: Authorizer;
  readonly decisions: Authorizers["decisions"];
  readonly rules: RbacRules;
  readonly tokens: TokenAuthenticator;
  readonly issueToken: IssueToken;
  readonly audiences: readonly string[];
  /** Which headers proxies must not pass on. */
  readonly isCredential: IsCredentialHeader;
  /** Of service account tokens, as others verify them. */
  readonly issuer: {
    readonly url: string;
    readonly keys: readonly string[];
    readonly keysUrl?: string;
  };
}

export function createSecurity(
  options: SecurityOptions,
  objects: Objects,
  signal: AbortSignal,
): RequestSecurity {
  const { clock, random, serviceAccounts } = options;
  const { authorizer, rules, decisions, replace } = createAuthorizers(
    options.modes,
    objects,
    clock,
    signal,
    options.features,
  );
  const oidc = createIssuers(options.oidc, clock);
  const tokens = tokenAuthenticators(options, objects, oidc.tokens);
  const { issuers, audiences, keys, keysUrl } = serviceAccounts;
  const [url = ""] = issuers;
  const flow = options.flow && turnTaking(options.flow, clock, objects, signal);
  const audit = options.audit && new Audit({ ...options.audit, clock, random });
  return {
    replace: { issuers: oidc.replace, authorizers: replace },
    authorizer,
    decisions,
    ...(flow && { flow }),
    ...(audit && { audit }),
    rules,
    tokens,
    audiences,
    isCredential: credentialHeaders(options.frontProxy),
    issuer: { url, keys, ...(keysUrl === undefined ? {} : { keysUrl }) },
    issueToken: createTokenIssuer({ ...serviceAccounts, issuer: url, objects, clock, random }),
    authenticate: identify(authenticators(options, tokens), authorizer),
    authorize: permit(authorizer),
  };
}

/** The authenticated user, and the user that they impersonate. */
function identify(
  authenticator: Authenticator,
  authorizer: Authorizer,
): RequestSecurity["authenticate"] {
  const lastModes = new LastModes();
  return (request, info) =>
    andThen(authenticator.authenticate(request), (answer) => {
      if (answer.outcome !== "known") {
        return { status: unauthorizedStatus("Unauthorized"), refused: undefined };
      }
      const { user } = answer;
      const own = (): AccessAttributes => accessAttributes(info, user, request.query);
      const acting = impersonate(request, own, authorizer, lastModes);
      return andThen(acting, (other) => identityOf(answer, other));
    });
}

/** Whether they may. */
function permit(authorizer: Authorizer): RequestSecurity["authorize"] {
  return (request, info, user, trail) => {
    const attributes = accessAttributes(info, user, request.query);
    return andThen(authorizer.authorize(attributes), (answer) => {
      const { decision, reason } = answer;
      trail?.annotate(DECISION, decision === "allow" ? "allow" : "forbid");
      trail?.annotate(REASON, reason);
      if (decision === "allow") return undefined;
      return answer.fault === undefined
        ? accessDeniedStatus(attributes, reason)
        : internalErrorStatus(answer.fault);
    });
  };
}

const DECISION = "authorization.k8s.io/decision";
const REASON = "authorization.k8s.io/reason";

function identityOf(
  { user, notes }: Extract<Authentication, { outcome: "known" }>,
  acting: Impersonation,
): Identity {
  const noted = notes === undefined ? undefined : { notes };
  if (acting.outcome === "none") return { user, ...noted };
  if (acting.outcome === "refused") return { status: acting.status, refused: user };
  return { user: acting.user, impersonator: user, constraint: acting.constraint, ...noted };
}

function turnTaking(
  options: NonNullable<SecurityOptions["flow"]>,
  clock: Clock,
  objects: Objects,
  signal: AbortSignal,
): ConcurrencyLimiter {
  if ("reads" in options) return createMaxInFlight(options);
  const flow = new FlowControl({ ...options, clock });
  flow.start(objects, signal);
  return flow;
}

function tokenAuthenticators(
  options: SecurityOptions,
  objects: Objects,
  jwt: TokenAuthenticator,
): TokenAuthenticator {
  const { tokenFile, serviceAccounts, clock, tokenWebhook } = options;
  const { keys, issuers, audiences } = serviceAccounts;
  return unionTokens([
    ...(tokenFile ? [createTokenFileAuthenticator(tokenFile.text, tokenFile.path)] : []),
    createServiceAccountTokenAuthenticator({ keys, issuers, audiences, objects, clock }),
    ...(options.bootstrapTokens ? [createBootstrapTokenAuthenticator(objects, clock)] : []),
    // Last, because only they may have to ask elsewhere.
    jwt,
    ...(tokenWebhook ? [createTokenWebhook({ ...tokenWebhook, audiences, clock })] : []),
  ]);
}

function authenticators(options: SecurityOptions, tokens: TokenAuthenticator): Authenticator {
  const { frontProxy, clock, anonymous } = options;
  return chainAuthenticators(
    [
      ...(frontProxy ? [createFrontProxyAuthenticator(frontProxy)] : []),
      createX509Authenticator(clock),
      createBearerAuthenticator(tokens),
    ],
    anonymous,
  );
}
