/** Requests to the API server through the dashboard. A refusal is an ApiError with the server's words. */
import { csrfHeader } from "./session.ts";

/** An event of the window: the API server or the dashboard does not know the user any more. */
export const UNAUTHORIZED = "k8ts-unauthorized";

export class ApiError extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export interface ApiRequest {
  readonly method?: string;
  readonly accept?: string;
  readonly contentType?: string;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

export async function openApi(path: string, request: ApiRequest = {}): Promise<Response> {
  const { method = "GET", accept = "application/json", contentType, body, signal } = request;
  const headers: Record<string, string> = { ...csrfHeader(), accept };
  if (body !== undefined) headers["content-type"] = contentType ?? "application/json";
  const answer = await fetch(`/k8s${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  });
  if (answer.status === 401) dispatchEvent(new Event(UNAUTHORIZED));
  if (!answer.ok) throw new ApiError(answer.status, messageOf(await answer.text(), answer.status));
  return answer;
}

export async function callApi<T>(path: string, request: ApiRequest = {}): Promise<T> {
  return (await (await openApi(path, request)).json()) as T;
}

function messageOf(text: string, code: number): string {
  try {
    const { message } = JSON.parse(text) as { readonly message?: unknown };
    if (typeof message === "string" && message !== "") return message;
  } catch {
    // not a Status
  }
  return text === "" ? `the server answered ${code}` : text.slice(0, 1000);
}
