/** Starts the front end: login, then the view that the URL names, while discovery is loaded. */
import { render } from "preact";
import { App } from "./components/app.tsx";
import { SignedOut, type SignedOutReason } from "./components/signed-out.tsx";
import { UNAUTHORIZED } from "./state/api.ts";
import { loadResources } from "./state/discovery.ts";
import { login, logout } from "./state/session.ts";
import { applyTheme } from "./state/theme.ts";

async function start(): Promise<void> {
  applyTheme();
  const root = document.getElementById("app");
  if (root === null) throw new Error("the page has no place for the front end");
  const signedOut = (reason: SignedOutReason): void => render(<SignedOut reason={reason} />, root);
  try {
    const { loggedIn, by } = await login();
    // The token of the session has expired: the page begins again with the login.
    if (loggedIn && by === "token") addEventListener(UNAUTHORIZED, () => void logout());
    if (!loggedIn) {
      signedOut({ why: "login", by });
      return;
    }
    // The overview needs no discovery: it is asked for at the same time.
    render(<App resources={undefined} />, root);
    render(<App resources={await loadResources()} />, root);
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    signedOut({ why: "unreachable", problem });
  }
}

void start();
