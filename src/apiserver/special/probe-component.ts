/** Asks a part of the control plane on this machine how it is, as upstream's API server does. */
import { request } from "node:https";
import { dialFault } from "../proxy/dial-fault.ts";
import type { ComponentCheck, ComponentHealth } from "./component-statuses.ts";

const HOST = "127.0.0.1";
const PATH = "/healthz";
const TIMEOUT_MS = 20_000;
const BODY_LENGTH_MAX = 10_240;

/** The part's certificate is one that it made itself: there is nothing to check it with. */
export function probeComponent(port: number): ComponentCheck {
  const url = `https://${HOST}:${port}${PATH}`;
  return () =>
    new Promise<ComponentHealth>((resolve) => {
      const unreachable = (why: string): void =>
        resolve({ well: false, message: `Get "${url}": ${why}` });
      const asked = request(url, { agent: false, rejectUnauthorized: false }, (answer) => {
        const { statusCode: code = 0 } = answer;
        let body = "";
        answer.setEncoding("utf8").on("data", (text: string) => {
          if (body.length < BODY_LENGTH_MAX) body += text;
        });
        answer.on("error", (error) => unreachable(error.message));
        answer.on("end", () =>
          resolve(
            code >= 200 && code < 300
              ? { well: true, message: body.slice(0, BODY_LENGTH_MAX) }
              : { well: false, message: `HTTP probe failed with statuscode: ${code}` },
          ),
        );
      });
      asked.setTimeout(TIMEOUT_MS, () => asked.destroy(new Error("i/o timeout")));
      asked.on("error", (error) => unreachable(dialFault(error, { host: HOST, port })));
      asked.end();
    });
}
