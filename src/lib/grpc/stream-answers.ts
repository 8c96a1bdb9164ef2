/**
 * The answers of a server stream as an async generator. The server is held back while WAITING_MAX
 * messages wait for the consumer.
 */
import { onAbort } from "#lib/async/aborted.ts";
import type { GrpcChannel } from "./grpc-channel.ts";
import type { GrpcMethod } from "./grpc-messages.ts";
import type { GrpcError } from "./grpc-status.ts";

const WAITING_MAX = 64;

/** Ends with the stream or when the signal aborts; throws GrpcError if the stream fails. */
export async function* streamAnswers<Request, Response>(
  channel: GrpcChannel,
  method: GrpcMethod<Request, Response>,
  request: Request,
  signal: AbortSignal,
): AsyncGenerator<Response, void> {
  const waiting: Response[] = [];
  let end: { readonly error: GrpcError | undefined } | undefined;
  let wake = (): void => undefined;
  if (signal.aborted) return;
  const stream = await channel.open(method, {
    onMessage: (message) => {
      waiting.push(message);
      if (waiting.length >= WAITING_MAX) stream.pause();
      wake();
    },
    onEnd: (error) => {
      end = { error };
      wake();
    },
  });
  onAbort(signal, () => wake());
  try {
    stream.write(request, { isLast: true });
    while (!signal.aborted) {
      const message = waiting.shift();
      if (message !== undefined) {
        yield message;
        continue;
      }
      stream.resume();
      if (waiting.length > 0) continue;
      if (end?.error !== undefined) throw end.error;
      if (end !== undefined) return;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  } finally {
    wake = () => undefined;
    stream.cancel();
  }
}
