/** What a target answers when it does not change the protocol. */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";

/** The target's own answer says what is wrong; any other that is no change of protocol is a fault. */
export async function forwardRefusal(response: IncomingMessage, client: Duplex): Promise<void> {
  const { statusCode: code = 0, statusMessage = "" } = response;
  if (code < 400) {
    response.destroy();
    throw new Error(`invalid upgrade response: status code ${code}`);
  }
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  const headers = rawHeaders(response, ["connection", "content-length", "transfer-encoding"]);
  client.write(`HTTP/1.1 ${code} ${statusMessage}\r\n${headers}`);
  client.end(
    Buffer.concat([
      Buffer.from(`Connection: close\r\nContent-Length: ${body.length}\r\n\r\n`),
      body,
    ]),
  );
}

export function rawHeaders(
  { rawHeaders: raw }: IncomingMessage,
  except: readonly string[] = [],
): string {
  let text = "";
  for (let at = 0; at + 1 < raw.length; at += 2) {
    if (!except.includes(raw[at]!.toLowerCase())) text += `${raw[at]}: ${raw[at + 1]}\r\n`;
  }
  return text;
}
