/**
 * Login: the one-time token after `#` in the URL is exchanged for a session cookie, which scripts
 * cannot read, and a CSRF token, which this page keeps for its own origin. The token leaves the URL.
 */
const CSRF_KEY = "k8ts-csrf";

export async function login(): Promise<boolean> {
  const token = /^#token=([\w-]+)$/.exec(location.hash)?.[1];
  if (token !== undefined) {
    history.replaceState(null, "", location.pathname + location.search);
    const answer = await fetch("/session", { method: "POST", body: token });
    if (answer.ok) {
      const { csrf } = (await answer.json()) as { readonly csrf: string };
      localStorage.setItem(CSRF_KEY, csrf);
      return true;
    }
  }
  const answer = await fetch("/session", { headers: csrfHeader() });
  return answer.ok;
}

export async function logout(): Promise<void> {
  await fetch("/session", { method: "DELETE", headers: csrfHeader() });
  localStorage.removeItem(CSRF_KEY);
  location.assign("/");
}

export function csrfHeader(): Record<string, string> {
  return { "x-csrf-token": localStorage.getItem(CSRF_KEY) ?? "" };
}

/** WebSockets have no headers: the token is offered as a subprotocol, which the server takes out. */
export function csrfProtocol(): string {
  return `csrf.k8ts.io.${localStorage.getItem(CSRF_KEY) ?? ""}`;
}
