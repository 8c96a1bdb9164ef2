/** An event as one line of plain text, as the oldest form of the log has it. */
import { goQuote } from "#api/meta/go-quote.ts";

interface AuditEvent {
  readonly auditID: string;
  readonly stage: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly userAgent?: string;
  readonly sourceIPs?: readonly string[];
  readonly user?: Who;
  readonly impersonatedUser?: Who;
  readonly objectRef?: { readonly namespace?: string };
  readonly responseStatus?: { readonly code?: number };
  readonly requestReceivedTimestamp: string;
}

interface Who {
  readonly username?: string;
  readonly groups?: readonly string[];
}

/** Takes the event as a line of JSON. */
export function legacyLine(json: string): string {
  const event = JSON.parse(json) as AuditEvent;
  const { user = {}, impersonatedUser: other, responseStatus: answer } = event;
  const groups = user.username ? user.groups : undefined;
  const fields = {
    id: event.auditID,
    stage: event.stage,
    ip: event.sourceIPs?.[0] ?? "<unknown>",
    method: event.verb,
    user: user.username || "<none>",
    groups: groups?.length ? listed(groups) : "<none>",
    as: other === undefined ? "<self>" : (other.username ?? ""),
    asgroups: other?.groups === undefined ? "<lookup>" : listed(other.groups),
    "user-agent": event.userAgent ?? "",
    namespace: event.objectRef?.namespace || "<none>",
    uri: event.requestURI,
    response: answer === undefined ? "<deferred>" : String(answer.code ?? 0),
  };
  const texts = Object.entries(fields).map(([name, value]) => `${name}=${goQuote(value)}`);
  return `${withoutZeros(event.requestReceivedTimestamp)} AUDIT: ${texts.join(" ")}\n`;
}

function listed(texts: readonly string[]): string {
  return texts.map(goQuote).join(",");
}

/** Times end with their last digit that counts. */
function withoutZeros(time: string): string {
  return time.replace(/\.?0+Z$/, "Z");
}
