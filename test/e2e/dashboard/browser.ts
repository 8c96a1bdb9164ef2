/** Debian's Chromium for tests of the dashboard: records what must never happen on a page. */
import { chromium, type Page } from "playwright-core";

export interface TestPage extends AsyncDisposable {
  readonly page: Page;
  /** Scripts that failed, and everything that the Content-Security-Policy or Trusted Types refused. */
  readonly problems: string[];
  /** Requests to other origins than those that the page was opened at. */
  readonly elsewhere: string[];
}

export interface TestPageOptions {
  readonly origin: string;
  readonly timeoutMs: number;
  /** Instead of Debian's Chromium itself. */
  readonly executablePath?: string;
}

export async function openTestPage(options: TestPageOptions): Promise<TestPage> {
  const { origin, timeoutMs, executablePath = "/usr/bin/chromium" } = options;
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const problems: string[] = [];
  const elsewhere: string[] = [];
  const watch = (page: Page): void => {
    page.setDefaultTimeout(timeoutMs);
    page.on("pageerror", (error) => problems.push(error.message));
    page.on("console", (message) => {
      if (/Content.Security.Policy|Trusted/i.test(message.text())) problems.push(message.text());
    });
    page.on("request", (request) => {
      if (!request.url().startsWith(origin)) elsewhere.push(request.url());
    });
  };
  context.on("page", watch);
  const page = await context.newPage();
  return { page, problems, elsewhere, [Symbol.asyncDispose]: () => browser.close() };
}
