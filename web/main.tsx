/** Starts the front end: login, discovery, then the view that the URL names. */
import { render } from "preact";
import { App } from "./components/app.tsx";
import { SignedOut } from "./components/signed-out.tsx";
import { loadResources } from "./state/discovery.ts";
import { login } from "./state/session.ts";
import { applyTheme } from "./state/theme.ts";

async function start(): Promise<void> {
  applyTheme();
  const root = document.getElementById("app");
  if (root === null) throw new Error("the page has no place for the front end");
  if (!(await login())) {
    render(<SignedOut />, root);
    return;
  }
  try {
    render(<App resources={await loadResources()} />, root);
  } catch (error) {
    render(<SignedOut problem={error instanceof Error ? error.message : String(error)} />, root);
  }
}

void start();
