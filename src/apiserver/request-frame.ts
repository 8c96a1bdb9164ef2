/**
 * What stands around every request whose sender is known: its turn (flow control) and its trail
 * (audit). A seat is held while the request is worked on, by a watch until it has told what is there;
 * what lives long holds its place until its answer has ended.
 */
import { andThen, type Eventual } from "#lib/eventual.ts";
import { type Answer, textAnswer } from "./answer.ts";
import type { AuditedAnswer, AuditTrail } from "./audit/audit.ts";
import { undecidedText } from "./authz/forbidden.ts";
import { type Admitted, isLongRunning } from "./flow/flow-control.ts";
import type { ApiRequest, RequestInfo } from "./request.ts";
import type { KnownIdentity, RequestSecurity } from "./security.ts";

type Frame = Pick<RequestSecurity, "flow" | "audit">;

export async function inFrame(
  { flow, audit }: Frame,
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
  for (const [key, value] of Object.entries(notes?.annotations ?? {})) trail?.annotate(key, value);
  // Components in this process have no connection that could be overloaded.
  const turn = request.peer.user === undefined ? await flow?.admit(user, info, request) : undefined;
  if (turn?.outcome === "refused") {
    return await withTrail(tooBusy(turn.retryAfterSeconds), trail, false);
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
  const ended = withTrail(flows ? withFlow(answer, turn) : answer, trail, long);
  const told = ended instanceof Promise ? await ended : ended;
  const place = turn?.place;
  return place === undefined ? told : whenSent(told, () => place.release());
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

function withTrail(answer: Answer, trail: AuditTrail | undefined, long: boolean): Eventual<Answer> {
  if (trail === undefined) return answer;
  const told = auditedAnswer(answer);
  if (!long && trail.waits) return andThen(trail.completed(told), () => answer);
  const started = long ? trail.started(told) : undefined;
  return andThen(started, () => whenSent(answer, () => void trail.completed(told)));
}

/** The answer, with something to do once it has been sent. */
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

function auditedAnswer({ code, body }: Answer): AuditedAnswer {
  if (body.form === "value" && body.value.kind === "Status") {
    return {
      code,
      status: body.value as AuditedAnswer["status"] & object,
      object: () => body.value,
    };
  }
  return { code, object: () => objectOf(body) };
}

function objectOf(body: Answer["body"]): unknown {
  switch (body.form) {
    case "object":
      return body.object.value;
    case "value":
      return body.value;
    case "list": {
      const { kind, items, resourceVersion, continueToken, remaining } = body.list;
      return {
        kind: kind.names.list,
        apiVersion: kind.apiVersion,
        metadata: {
          resourceVersion,
          ...(continueToken === undefined ? {} : { continue: continueToken }),
          ...(remaining === undefined ? {} : { remainingItemCount: remaining }),
        },
        items: items.map((item) => {
          const { kind: _kind, apiVersion: _version, ...rest } = item.as(kind).value;
          return rest;
        }),
      };
    }
    default:
      return undefined;
  }
}
