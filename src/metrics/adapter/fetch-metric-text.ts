/** GET of a metrics page over HTTP, with a limit in bytes and in time. Redirects are not followed. */
import { request } from "node:http";
import type { Clock } from "#lib/time/clock.ts";
import type { ScrapeTarget } from "./scrape-target.ts";

const ANSWER_BYTES_MAX = 4 << 20;
const TIMEOUT_MS = 3_000;

export async function fetchMetricText(
  { host, port, path }: ScrapeTarget,
  clock: Clock,
): Promise<string> {
  return await new Promise((resolve, reject) => {
    const headers = { accept: "text/plain;version=0.0.4" };
    const asked = request({ host, port, path, headers, agent: false }, (answer) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      answer.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > ANSWER_BYTES_MAX) asked.destroy(new Error("the page is too long"));
        else chunks.push(chunk);
      });
      answer.on("error", reject);
      answer.on("end", () => {
        if (answer.statusCode === 200) resolve(Buffer.concat(chunks).toString("utf8"));
        else reject(new Error(`answered ${answer.statusCode}`));
      });
    });
    const limit = clock.schedule(TIMEOUT_MS, () => asked.destroy(new Error("no answer in time")));
    asked.on("close", () => limit.cancel());
    asked.on("error", reject);
    asked.end();
  });
}
