/** A tab of Chromium with the dashboard: what it gets, holds and draws. */
import { readFileSync } from "node:fs";
import type { CDPSession, Page } from "playwright-core";

export interface Traffic {
  readonly bytesPerSecond: number;
}

/** What the browser receives meanwhile, over HTTP and WebSocket. */
export async function trafficDuring(
  session: CDPSession,
  work: () => Promise<void>,
): Promise<Traffic> {
  let bytes = 0;
  const onData = ({ encodedDataLength }: { encodedDataLength: number }): void => {
    bytes += encodedDataLength;
  };
  const onFrame = ({ response }: { response: { payloadData: string } }): void => {
    bytes += Buffer.byteLength(response.payloadData);
  };
  session.on("Network.dataReceived", onData);
  session.on("Network.webSocketFrameReceived", onFrame);
  const startMs = performance.now();
  await work();
  const seconds = (performance.now() - startMs) / 1000;
  session.off("Network.dataReceived", onData);
  session.off("Network.webSocketFrameReceived", onFrame);
  return { bytesPerSecond: bytes / seconds };
}

/**
 * Opens a page; answers after how many milliseconds an element was drawn. The page itself says it, because
 * playwright-core looks at growing intervals only.
 */
export async function firstView(page: Page, url: string, selector: string): Promise<number> {
  await page.addInitScript(`globalThis.drawnMs = new Promise((resolve) => {
    const look = () => {
      if (document.querySelector(${JSON.stringify(selector)}) === null) return;
      observer.disconnect();
      // The frame with the element is on its way when the next one begins.
      const drawn = () => resolve(performance.timeOrigin + performance.now());
      requestAnimationFrame(() => requestAnimationFrame(drawn));
    };
    const observer = new MutationObserver(look);
    observer.observe(document, { childList: true, subtree: true });
  })`);
  const startMs = performance.timeOrigin + performance.now();
  await page.goto(url);
  return (await page.evaluate<number>("globalThis.drawnMs")) - startMs;
}

/** The length that 95 % of frames do not exceed. */
export function frameMs95(frames: readonly number[]): number {
  const ordered = frames.toSorted((a, b) => a - b);
  return ordered[Math.floor(ordered.length * 0.95)] ?? Number.NaN;
}

/** Scrolls the list that is shown for a while; answers the length of each frame in milliseconds. */
export async function scroll(page: Page, pxPerFrame: number, ms: number): Promise<number[]> {
  // As text, because the page's globals are not those of this program.
  return await page.evaluate<number[]>(`(async () => {
    const grid = document.querySelector("section.grid");
    const frames = [];
    const nextFrame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    let last = await nextFrame();
    const endMs = last + ${ms};
    while (last < endMs) {
      grid.scrollTop += ${pxPerFrame};
      const now = await nextFrame();
      frames.push(now - last);
      last = now;
    }
    return frames;
  })()`);
}

/** Memory of the process that draws the page, its share of what it has in common with others. */
export async function tabMb(browserSession: CDPSession): Promise<number> {
  const { processInfo } = await browserSession.send("SystemInfo.getProcessInfo");
  const sizes = processInfo
    .filter(({ type }) => type === "renderer")
    .map(({ id }) => readFileSync(`/proc/${id}/smaps_rollup`, "utf8"))
    .map((text) => Number(/^Pss:\s+(\d+)/m.exec(text)?.[1] ?? Number.NaN) / 1024);
  return Math.max(...sizes);
}
