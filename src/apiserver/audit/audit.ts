/**
 * The audit log: who asked for what, when, and what came of it. One JSON document per line and stage,
 * in the form of audit.k8s.io/v1.
 *
 * Promises:
 * 1. A request that the policy does not want costs one look at the policy.
 * 2. What an event says of the response is what the client got.
 * 3. With a blocking log, a request is processed after its RequestReceived event is written, and the
 *    response is sent after its event is written.
 * 4. Objects are logged only from level Request on, and never with more than the client sent or got.
 */
import type { Status } from "#api/generated/meta.v1.ts";
import { formatDuration } from "#api/meta/duration.ts";
import { microTimeFromMs } from "#api/meta/time.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { ApiRequest, RequestInfo, User } from "../request/request.ts";
import {
  type AuditedAnswer,
  headOf,
  type NamedObject,
  objectRef,
  type Requester,
  responseStatus,
  withoutManagedFields,
} from "./event.ts";
import {
  type AuditLevel,
  type AuditPolicy,
  type AuditScope,
  type AuditStage,
  auditScope,
} from "./policy.ts";
import { requestObject } from "./request-object.ts";

export interface AuditOptions {
  readonly policy: AuditPolicy;
  readonly clock: Pick<Clock, "nowMs">;
  readonly random: Random;
  /** Requests wait until their events are stored. */
  readonly waits?: boolean;
  /** Takes a line with its end. */
  write(line: string): Stored;
}

/** Where requests wait: whether the event was stored, as far as that matters. */
export type Stored = Promise<boolean> | undefined;

/** The audit events of one request. */
export interface AuditTrail {
  /** Responses wait until their event is written. */
  readonly waits: boolean;
  received(): Stored;
  /** `level`: only in events of at least this level. The first value of a key stays. */
  annotate(key: string, value: string, level?: "Request"): void;
  /** What the client sent, as it was understood; without it, as it came. */
  sent(object?: object): void;
  /** The first bytes of an answer that goes on for long. */
  started(answer: AuditedAnswer): Stored;
  completed(answer: AuditedAnswer): Stored;
}

/** Requests that take longer get the latency annotation. */
const SLOW_MS = 500;
const TOTAL_LATENCY = "apiserver.latency.k8s.io/total";

export class Audit {
  readonly #options: AuditOptions;
  readonly #levels = new Map<AuditLevel, number>();
  #written = 0;

  constructor({ write, ...options }: AuditOptions) {
    this.#options = {
      ...options,
      write: (line) => {
        this.#written += 1;
        return write(line);
      },
    };
  }

  /** Events since the start. */
  get written(): number {
    return this.#written;
  }

  /** Requests since the start, by how much the policy wants of them. */
  get levels(): ReadonlyMap<AuditLevel, number> {
    return this.#levels;
  }

  /** Undefined: the policy logs nothing of this request. */
  begin(
    request: ApiRequest,
    info: RequestInfo,
    asker: Requester,
    receivedMs: number,
  ): AuditTrail | undefined {
    const scope = auditScope(this.#options.policy, info, asker.user);
    this.#levels.set(scope.level, (this.#levels.get(scope.level) ?? 0) + 1);
    if (scope.level === "None") return undefined;
    return new Trail(this.#options, scope, request, info, asker, receivedMs);
  }

  /** A request that was refused before it was processed. */
  refused(
    request: ApiRequest,
    info: RequestInfo,
    { refused, status }: { readonly refused: User | undefined; readonly status: Status },
    receivedMs: number,
  ): void {
    const answer = { code: status.code ?? 0, status, object: () => status };
    if (refused !== undefined) {
      const trail = this.begin(request, info, { user: refused }, receivedMs);
      trail?.received();
      trail?.completed(answer);
    } else {
      this.begin(request, info, { user: UNAUTHENTICATED }, receivedMs)?.started(answer);
    }
  }
}

const UNAUTHENTICATED: User = { name: "", groups: [] };

class Trail implements AuditTrail {
  readonly #options: AuditOptions;
  readonly #scope: AuditScope;
  readonly #request: ApiRequest;
  readonly #info: RequestInfo;
  readonly #asker: Requester;
  readonly #id: string;
  readonly #receivedMs: number;
  readonly #annotations: Record<string, string> = {};
  #isLong = false;
  #sent: unknown;
  #named: NamedObject = {};

  constructor(
    options: AuditOptions,
    scope: AuditScope,
    request: ApiRequest,
    info: RequestInfo,
    asker: Requester,
    receivedMs: number,
  ) {
    this.#options = options;
    this.#scope = scope;
    this.#request = request;
    this.#info = info;
    this.#receivedMs = receivedMs;
    this.#asker = asker;
    this.#id = request.auditId ?? options.random.uuid();
  }

  get waits(): boolean {
    return this.#options.waits ?? false;
  }

  received(): Stored {
    return this.#write("RequestReceived", {});
  }

  annotate(key: string, value: string, level?: "Request"): void {
    if (level !== undefined && !this.#tellsSent()) return;
    this.#annotations[key] ??= value;
  }

  sent(object?: object): void {
    const { namespace, name, uid, resourceVersion } = (object as Sent | undefined)?.metadata ?? {};
    this.#named = { namespace, name, uid, resourceVersion };
    if (!this.#tellsSent()) return;
    // It is changed on its way.
    this.#sent = object === undefined ? requestObject(this.#request) : structuredClone(object);
  }

  started(answer: AuditedAnswer): Stored {
    this.#isLong = true;
    return this.#write("ResponseStarted", this.#about(answer));
  }

  completed(answer: AuditedAnswer): Stored {
    const tookMs = this.#options.clock.nowMs() - this.#receivedMs;
    if (tookMs > SLOW_MS && !this.#isLong) {
      this.annotate(TOTAL_LATENCY, formatDuration(BigInt(Math.round(tookMs)) * 1_000_000n));
    }
    return this.#write("ResponseComplete", this.#about(answer));
  }

  #tellsSent(): boolean {
    return this.#scope.level === "Request" || this.#scope.level === "RequestResponse";
  }

  #about(answer: AuditedAnswer): Readonly<Record<string, unknown>> {
    const sent = this.#sent;
    const got = this.#scope.level === "RequestResponse" ? answer.object?.() : undefined;
    return {
      responseStatus: responseStatus(answer),
      ...(sent === undefined ? {} : { requestObject: this.#shown(sent) }),
      ...(got === undefined ? {} : { responseObject: this.#shown(got) }),
    };
  }

  #shown(object: unknown): unknown {
    return this.#scope.omitManagedFields ? withoutManagedFields(object) : object;
  }

  #write(stage: AuditStage, more: Readonly<Record<string, unknown>>): Stored {
    if (this.#scope.omitStages.has(stage)) return undefined;
    const annotated = Object.keys(this.#annotations).length > 0;
    // The impersonated user is known only after the stage RequestReceived.
    const { user } = this.#asker;
    const asker = stage === "RequestReceived" ? { user } : this.#asker;
    const event = {
      kind: "Event",
      apiVersion: "audit.k8s.io/v1",
      level: this.#scope.level,
      auditID: this.#id,
      stage,
      ...headOf(this.#request, this.#info, asker),
      ...objectRef(this.#info, this.#named),
      ...more,
      requestReceivedTimestamp: microTimeFromMs(this.#receivedMs),
      stageTimestamp: microTimeFromMs(this.#options.clock.nowMs()),
      ...(annotated ? { annotations: this.#annotations } : {}),
    };
    return this.#options.write(`${JSON.stringify(event)}\n`);
  }
}

interface Sent {
  readonly metadata?: NamedObject;
}
