/**
 * Login: a token is exchanged for a session cookie, which scripts cannot read, and a CSRF token, which this
 * page keeps for its own origin. The token is the one after `#` in the URL, which leaves the URL, or one that
 * the user typed, which is not kept.
 */
const CSRF_KEY = "k8ts-csrf";

export interface LoginState {
  readonly loggedIn: boolean;
  /** What the server takes. */
  readonly by: "link" | "token";
}

export async function login(): Promise<LoginState> {
  const token = /^#token=([\w-]+)$/.exec(location.hash)?.[1];
  if (token !== undefined) {
    history.replaceState(null, "", location.pathname + location.search);
    if ((await loginWith(token)) === undefined) return { loggedIn: true, by: "link" };
  }
  const answer = await fetch("/session", { headers: csrfHeader() });
  const { loginBy: by } = (await answer.json()) as { readonly loginBy: LoginState["by"] };
  return { loggedIn: answer.ok, by };
}

/** Returns why it was refused; undefined if there is a session now. */
export async function loginWith(token: string): Promise<string | undefined> {
  const answer = await fetch("/session", { method: "POST", body: token });
  if (!answer.ok) return await answer.text();
  const { csrf } = (await answer.json()) as { readonly csrf: string };
  localStorage.setItem(CSRF_KEY, csrf);
  return undefined;
}

export async function logout(): Promise<void> {
  await fetch("/session", { method: "DELETE", headers: csrfHeader() });
  localStorage.removeItem(CSRF_KEY);
  location.assign("/");
}

export function csrfHeader(): Record<string, string> {
  return { "x-csrf-token": localStorage.getItem(CSRF_KEY) ?? "" };
}

/** A WebSocket of the dashboard. The CSRF token is offered as a subprotocol, which the server takes out. */
export function openSocket(path: string, protocol: string): WebSocket {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const csrf = `csrf.k8ts.io.${localStorage.getItem(CSRF_KEY) ?? ""}`;
  return new WebSocket(`${scheme}://${location.host}${path}`, [protocol, csrf]);
}
