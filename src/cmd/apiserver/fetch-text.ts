/** GETs a text over HTTPS, trusting one authority if it is given. */
import { get } from "node:https";

const TIMEOUT_MS = 10_000;
const BYTES_MAX = 1024 * 1024;

export function fetchText(url: string, ca: string | undefined, bearer?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = get(url, {
      timeout: TIMEOUT_MS,
      ...(ca === undefined ? {} : { ca }),
      ...(bearer === undefined ? {} : { headers: { authorization: `Bearer ${bearer}` } }),
    });
    request.on("timeout", () => request.destroy(new Error(`no answer from ${url}`)));
    request.on("error", reject);
    request.on("response", (response) => {
      const chunks: Buffer[] = [];
      let length = 0;
      response.on("data", (chunk: Buffer) => {
        length += chunk.length;
        if (length > BYTES_MAX) request.destroy(new Error(`${url} is too long`));
        chunks.push(chunk);
      });
      response.on("end", () => {
        if (response.statusCode === 200) resolve(Buffer.concat(chunks).toString());
        else reject(new Error(`${url} answered ${response.statusCode}`));
      });
    });
  });
}
