/** What every verb gets: the server's parts, and the request after authentication and routing. */
import type { Status } from "#api/generated/meta.v1.ts";
import type { Kind } from "#api/kind.ts";
import { notFoundStatus, type Result } from "#api/meta/status.ts";
import type { KeyLocks } from "#lib/async/key-locks.ts";
import type { MaybePromise } from "#lib/async/maybe-promise.ts";
import type { WorkPace } from "#lib/async/work-pace.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { Admission } from "../admission/admission-chain.ts";
import type { KindRegistry } from "../registry/kind-registry.ts";
import type { AnswerBody } from "../response/answer.ts";
import type { Media } from "../response/negotiate.ts";
import type { ObjectStore } from "../storage/object-store.ts";
import type { ServedResource } from "../storage/resources.ts";
import type { WriteHooks } from "../write/write-hooks.ts";
import type { ApiRequest, RequestInfo, User } from "./request.ts";
import type { TimeLimit } from "./time-limit.ts";

export interface ServerParts {
  readonly resources: KindRegistry;
  readonly objects: ObjectStore;
  readonly admission: Admission;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly allowPrivileged: boolean;
  /** Names of features that are off by default and on here. */
  readonly features: readonly string[];
  /** Watches without a timeout of their own end after once to twice as long. */
  readonly watchTimeoutMinMs: number;
  readonly bookmarkEveryMs: number;
  /** How long a write may take before its client gets a timeout. */
  readonly writeLimit: TimeLimit;
  /** Serializes updates of one object that lost a race, by storage key. */
  readonly updateLocks: KeyLocks;
  /** Called for requests to deprecated APIs. */
  deprecated?(info: RequestInfo, warning: string): void;
  /** By `GROUP/PLURAL`. */
  readonly hooks: Readonly<Record<string, WriteHooks | undefined>>;
}

export interface VerbRequest {
  readonly parts: ServerParts;
  readonly request: ApiRequest;
  readonly info: RequestInfo;
  readonly resource: ServedResource;
  readonly user: User;
  readonly media: Media;
  /** Large objects are worked on in steps with rests between them. */
  readonly pace: WorkPace;
  warn(text: string): void;
  /** Adds an annotation to the audit event, if there is one and, with a level, if it has at least that. */
  annotate?(key: string, value: string, level?: "Request"): void;
  /** Records audit's requestObject: the decoded object, or else the raw body. */
  sent?(object?: object): void;
  /** Updates that create need the right to create; a Status says that it is missing. */
  mayCreate(): MaybePromise<Status | undefined>;
}

export interface VerbAnswer {
  readonly code: number;
  readonly body: AnswerBody;
}

export type VerbResult = Result<VerbAnswer>;

/** What the resource does around its writes. */
export function hooksOf({ parts, resource }: VerbRequest): WriteHooks | undefined {
  return parts.hooks[`${resource.stored.group}/${resource.stored.plural}`];
}

/** What an object of the kind calls itself. */
export function typeMetaOf({ names, apiVersion }: Kind): { kind: string; apiVersion: string } {
  return { kind: names.kind, apiVersion };
}

export function notFound({ resource }: Pick<VerbRequest, "resource">, name: string): Status {
  return notFoundStatus(groupResourceOf(resource), name);
}

/** The resource as error messages name it. */
export function groupResourceOf({ kind }: ServedResource): { group: string; resource: string } {
  return { group: kind.group, resource: kind.names.plural };
}
