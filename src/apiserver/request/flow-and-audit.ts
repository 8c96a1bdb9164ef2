/**
 * Runs an authenticated request under flow control and audit. A seat is held while the request
 * executes, by a watch until its initial events are sent; a long-running request counts against its
 * limit until its response has ended.
 */
import { andThen, type MaybePromise } from "#lib/async/maybe-promise.ts";
import type { AuditTrail } from "../audit/audit.ts";
import type { AuditedAnswer } from "../audit/event.ts";
import { undecidedText } from "../authz/forbidden.ts";
import { type Admitted, isLongRunning } from "../flow/concurrency-limiter.ts";
import { type Answer, type AnswerBody, textAnswer } from "../response/answer.ts";
import { presentedValue } from "../response/encode-answer.ts";
import type { Media } from "../response/negotiate.ts";
import type { Tables } from "../response/table.ts";
import type { ApiRequest, RequestInfo } from "./request.ts";
import type { KnownIdentity, RequestSecurity } from "./security.ts";

interface Frame {
  readonly security: Pick<RequestSecurity, "flow" | "audit">;
  readonly tables: Tables;
}

export async function withFlowAndAudit(
  { security: { flow, audit }, tables }: Frame,
  request: ApiRequest,
  info: RequestInfo,
  identity: KnownIdentity,
  receivedMs: number,
  work: (trail: AuditTrail | undefined) => Promise<Answer>,
): Promise<Answer> {
  const { user, impersonator, constraint, notes } = identity;
  const trail = audit?.begin(
    request,
    info,
    impersonator === undefined
      ? { user }
      : { user: impersonator, impersonated: user, constraint: constraint ?? "" },
    receivedMs,
  );
  const stored = trail?.received();
  if (stored !== undefined && !(await stored)) {
    return textAnswer(500, undecidedText(request, "failed to store audit event"));
  }
  if (notes?.annotations !== undefined) {
    for (const [key, value] of Object.entries(notes.annotations)) trail?.annotate(key, value);
  }
  // Components in this process have no connection that could be overloaded.
  const entry = request.peer.user === undefined ? flow?.admit(user, info, request) : undefined;
  const turn = entry instanceof Promise ? await entry : entry;
  if (turn?.outcome === "refused") {
    const busy = tooBusy(turn.retryAfterSeconds);
    return await withTrail(busy, trail, false, () => undefined);
  }
  const long = isLongRunning(info);
  let answer: Answer;
  try {
    answer = await work(trail);
    if (notes?.warning !== undefined) {
      answer = { ...answer, warnings: [notes.warning, ...answer.warnings] };
    }
  } catch (error) {
    turn?.seat.release();
    turn?.place?.release();
    throw error;
  }
  if (turn !== undefined) {
    if (answer.body.form === "watch") answer.body.feed.whenCaughtUp(() => turn.seat.release());
    else turn.seat.release();
  }
  const flows = turn !== undefined && (!long || info.verb === "watch");
  const { body, media } = answer;
  const object = (): unknown => responseObject(body, media, request.query, tables);
  const ended = withTrail(flows ? withFlow(answer, turn) : answer, trail, long, object);
  const sent = ended instanceof Promise ? await ended : ended;
  const place = turn?.place;
  return place === undefined ? sent : whenSent(sent, () => place.release());
}

function withFlow(answer: Answer, { flow, executed }: Admitted): Answer {
  if (flow === undefined) return answer;
  const headers = {
    ...answer.headers,
    "x-kubernetes-pf-flowschema-uid": flow.schemaUid,
    "x-kubernetes-pf-prioritylevel-uid": flow.levelUid,
  };
  return executed === undefined ? { ...answer, headers } : { ...answer, headers, executed };
}

function withTrail(
  answer: Answer,
  trail: AuditTrail | undefined,
  long: boolean,
  object: () => unknown,
): MaybePromise<Answer> {
  if (trail === undefined) return answer;
  const audited = auditedAnswer(answer, object);
  if (!long && trail.waits) return andThen(trail.completed(audited), () => answer);
  const started = long ? trail.started(audited) : undefined;
  return andThen(started, () => whenSent(answer, () => void trail.completed(audited)));
}

/** The answer, with a callback for when it was sent. */
export function whenSent(answer: Answer, then: () => void): Answer {
  const { sent } = answer;
  return {
    ...answer,
    sent: () => {
      sent?.();
      then();
    },
  };
}

function tooBusy(retryAfterSeconds: number): Answer {
  const answer = textAnswer(429, "Too many requests, please try again later.\n");
  const headers = { ...answer.headers, "retry-after": String(retryAfterSeconds) };
  return { ...answer, headers };
}

function auditedAnswer({ code, body }: Answer, object: () => unknown): AuditedAnswer {
  if (body.form !== "value" || body.value.kind !== "Status") return { code, object };
  const status = body.value as AuditedAnswer["status"] & object;
  return { code, status, object: () => status };
}

/** Audit's responseObject: the object in the form that the client requested. */
function responseObject(
  body: AnswerBody,
  media: Media,
  query: URLSearchParams,
  tables: Tables,
): unknown {
  if (body.form === "value" || body.form === "object") {
    return presentedValue(body, media, query, tables);
  }
  if (body.form !== "list") return undefined;
  const { list } = body;
  const items = list.items.map((item) => item.as(list.kind));
  return presentedValue({ form: "list", list: { ...list, items } }, media, query, tables);
}
