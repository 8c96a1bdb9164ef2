/** Who may do what: authentication, impersonation and authorization put together from options. */
import type { Status } from "#api/generated/meta.v1.ts";
import { internalErrorStatus, unauthorizedStatus } from "#api/meta/status.ts";
import type { Clock } from "#lib/clock.ts";
import { andThen, type Eventual } from "#lib/eventual.ts";
import type { Random } from "#lib/random.ts";
import { Audit, type AuditOptions, type AuditTrail } from "./audit/audit.ts";
import type { Authentication, AuthenticationNotes, Authenticator } from "./authn/authenticator.ts";
import { createBearerAuthenticator } from "./authn/bearer.ts";
import { createBootstrapTokenAuthenticator } from "./authn/bootstrap-tokens.ts";
import { type AnonymousOptions, chainAuthenticators } from "./authn/chain.ts";
import { createFrontProxyAuthenticator, type FrontProxyOptions } from "./authn/front-proxy.ts";
import { type Impersonation, impersonate, LastModes } from "./authn/impersonation.ts";
import { createOidcAuthenticator, type OidcOptions } from "./authn/oidc.ts";
import { createServiceAccountTokenAuthenticator } from "./authn/service-account-tokens.ts";
import { type TokenAuthenticator, unionTokens } from "./authn/token-authenticator.ts";
import { createTokenFileAuthenticator } from "./authn/token-file.ts";
import { createTokenIssuer, type IssueToken } from "./authn/token-request.ts";
import { createTokenWebhook, type TokenWebhookOptions } from "./authn/token-webhook.ts";
import { createX509Authenticator } from "./authn/x509.ts";
import { accessAttributes } from "./authz/attributes.ts";
import type { AccessAttributes, Authorizer } from "./authz/authorizer.ts";
import { alwaysAllow, alwaysDeny, chainAuthorizers } from "./authz/chain.ts";
import { type DecisionCount, DecisionCounts } from "./authz/decision-counts.ts";
import { accessDeniedStatus } from "./authz/forbidden.ts";
import { createNodeAuthorizer } from "./authz/node.ts";
import { NodeObjects } from "./authz/node-objects.ts";
import { createRbacAuthorizer } from "./authz/rbac.ts";
import { RbacRules } from "./authz/rbac-rules.ts";
import { createWebhookAuthorizer, type WebhookAuthorizerOptions } from "./authz/webhook.ts";
import { FlowControl, type FlowControlOptions, type TurnTaking } from "./flow/flow-control.ts";
import { createMaxInFlight, type MaxInFlightOptions } from "./flow/max-in-flight.ts";
import type { Objects } from "./objects.ts";
import type { ApiRequest, RequestInfo, User } from "./request.ts";

export type AuthorizationMode = "Node" | "RBAC" | "AlwaysAllow" | "AlwaysDeny";

export type AccessWebhook = Omit<WebhookAuthorizerOptions, "clock">;

export interface SecurityOptions {
  /** Asked in order. */
  readonly modes: readonly (AuthorizationMode | AccessWebhook)[];
  readonly tokenWebhook?: Omit<TokenWebhookOptions, "clock" | "audiences">;
  readonly anonymous: AnonymousOptions;
  readonly bootstrapTokens: boolean;
  readonly tokenFile?: { readonly path: string; readonly text: string };
  readonly frontProxy?: FrontProxyOptions;
  readonly oidc: readonly Omit<OidcOptions, "clock">[];
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
  /** Where others find the keys, if not at this server. */
  readonly keysUrl?: string;
}

/** Who asks, and who really does if they act as someone else. */
export interface KnownIdentity {
  readonly user: User;
  readonly impersonator?: User;
  readonly constraint?: string;
  readonly notes?: AuthenticationNotes;
}

export type Identity =
  | KnownIdentity
  /** Refused: nobody, or somebody who may not act as someone else. */
  | { readonly status: Status; readonly refused: User | undefined };

/** What may change while the server runs. */
export interface Replacements {
  /** Only once all of them have been reached; rejects and leaves all as it was if one cannot be. */
  issuers(oidc: SecurityOptions["oidc"]): Promise<void>;
  authorizers(modes: SecurityOptions["modes"]): void;
}

export interface RequestSecurity {
  /** Requests under way keep those that they were begun with. */
  readonly replace: Replacements;
  authenticate(request: ApiRequest, info: RequestInfo): Eventual<Identity>;
  authorize(
    request: ApiRequest,
    info: RequestInfo,
    user: User,
    trail?: Pick<AuditTrail, "annotate">,
  ): Eventual<Status | undefined>;
  readonly flow?: TurnTaking;
  readonly audit?: Audit;
  readonly authorizer: Authorizer;
  /** How often each of the authorizers decided. */
  decisions(): readonly DecisionCount[];
  readonly rules: RbacRules;
  readonly tokens: TokenAuthenticator;
  readonly issueToken: IssueToken;
  readonly audiences: readonly string[];
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
  const rules = new RbacRules(objects);
  rules.start(signal);
  const related = new NodeObjects(objects, signal);
  const decisions = new DecisionCounts();
  const authorizers = (modes: SecurityOptions["modes"]): Authorizer =>
    chainAuthorizers(
      modes.map((mode) =>
        typeof mode === "string"
          ? decisions.of(authorizerOf(mode, rules, related), mode, mode.toLowerCase())
          : decisions.of(createWebhookAuthorizer({ ...mode, clock }), "Webhook", mode.name),
      ),
    );
  let current = authorizers(options.modes);
  const authorizer: Authorizer = {
    name: current.name,
    authorize: (attributes) => current.authorize(attributes),
    rulesFor: (user, namespace) => current.rulesFor!(user, namespace),
  };
  const issuersOf = (oidc: SecurityOptions["oidc"]) =>
    oidc.map((issuer) => createOidcAuthenticator({ ...issuer, clock }));
  let jwt = unionTokens(issuersOf(options.oidc));
  const tokens = tokenAuthenticators(options, objects, {
    name: "oidc",
    authenticateToken: (token, audiences) => jwt.authenticateToken(token, audiences),
  });
  const authenticator = authenticators(options, tokens);
  const { issuers, audiences } = serviceAccounts;
  const lastModes = new LastModes();

  const flow = options.flow && turnTaking(options.flow, clock, objects, signal);

  return {
    replace: {
      async issuers(oidc) {
        const next = issuersOf(oidc);
        await Promise.all(next.map((one) => one.ready()));
        jwt = unionTokens(next);
      },
      authorizers(modes) {
        current = authorizers(modes);
      },
    },
    authorizer,
    decisions: () => decisions.all(),
    ...(flow === undefined ? {} : { flow }),
    ...(options.audit ? { audit: new Audit({ ...options.audit, clock, random }) } : {}),
    rules,
    tokens,
    audiences,
    issuer: {
      url: issuers[0] ?? "",
      keys: serviceAccounts.keys,
      ...(serviceAccounts.keysUrl === undefined ? {} : { keysUrl: serviceAccounts.keysUrl }),
    },
    issueToken: createTokenIssuer({
      ...serviceAccounts,
      issuer: issuers[0] ?? "",
      objects,
      clock,
      random,
    }),
    authenticate: (request, info) =>
      andThen(authenticator.authenticate(request), (answer) => {
        if (answer.outcome !== "known") {
          return { status: unauthorizedStatus("Unauthorized"), refused: undefined };
        }
        const { user } = answer;
        const own = (): AccessAttributes => accessAttributes(info, user, request.query);
        const acting = impersonate(request, own, authorizer, lastModes);
        return andThen(acting, (other) => identityOf(answer, other));
      }),
    authorize(request, info, user, trail) {
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
    },
  };
}

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
): TurnTaking {
  if ("reads" in options) return createMaxInFlight(options);
  const flow = new FlowControl({ ...options, clock });
  flow.start(objects, signal);
  return flow;
}

const DECISION = "authorization.k8s.io/decision";
const REASON = "authorization.k8s.io/reason";

function authorizerOf(mode: AuthorizationMode, rules: RbacRules, related: NodeObjects): Authorizer {
  switch (mode) {
    case "Node":
      return createNodeAuthorizer(related);
    case "RBAC":
      return createRbacAuthorizer(rules);
    case "AlwaysAllow":
      return alwaysAllow;
    case "AlwaysDeny":
      return alwaysDeny;
  }
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
