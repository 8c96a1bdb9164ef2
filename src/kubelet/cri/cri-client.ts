/**
 * The container runtime as the kubelet sees it: CRI v1 over one socket. Every function takes the
 * message that the protocol names and answers with the response; failures are `GrpcError`.
 */
import type { CallOptions } from "#lib/grpc/grpc-channel.ts";
import { GrpcClient } from "#lib/grpc/grpc-client.ts";
import type { GrpcMethod } from "#lib/grpc/grpc-messages.ts";
import { imageMethods } from "./image-methods.ts";
import { type ContainerEvent, runtimeMethods } from "./runtime-methods.ts";

/** Upstream's `runtimeRequestTimeout`. Calls that wait for a program get its time on top. */
const TIMEOUT_MS = 120_000;

type Calls<Methods> = {
  readonly [Name in keyof Methods]: Methods[Name] extends GrpcMethod<infer Request, infer Response>
    ? (request: Request, options?: CallOptions) => Promise<Response>
    : never;
};

export type RuntimeService = Calls<Omit<typeof runtimeMethods, "getContainerEvents">>;
export type ImageService = Calls<typeof imageMethods>;

export interface CriClient extends Disposable {
  readonly runtime: RuntimeService;
  readonly images: ImageService;
  /** Events of containers, where the runtime has them: containerd from 1.7 on. */
  containerEvents(signal: AbortSignal): AsyncIterable<ContainerEvent>;
}

export interface CriOptions {
  /** `unix:///run/containerd/containerd.sock` */
  readonly endpoint: string;
  readonly imageEndpoint?: string | undefined;
  readonly timeoutMs?: number;
  /** Runs each call, by upstream's name of the operation: for metrics. */
  measure?<T>(operation: string, work: () => Promise<T>): Promise<T>;
}

export function createCriClient(options: CriOptions): CriClient {
  const { endpoint, imageEndpoint = endpoint, timeoutMs = TIMEOUT_MS } = options;
  const { measure = unmeasured } = options;
  const client = new GrpcClient(endpoint);
  const imageClient = imageEndpoint === endpoint ? client : new GrpcClient(imageEndpoint);
  const { getContainerEvents, ...unary } = runtimeMethods;
  return {
    runtime: callsOf(client, unary, timeoutMs, measure),
    images: callsOf(imageClient, imageMethods, timeoutMs, measure),
    containerEvents: (signal) => client.stream(getContainerEvents, {}, signal),
    [Symbol.dispose]: () => {
      client.close();
      imageClient.close();
    },
  };
}

function callsOf<Methods extends object>(
  client: GrpcClient,
  methods: Methods,
  timeoutMs: number,
  measure: NonNullable<CriOptions["measure"]>,
): Calls<Methods> {
  const calls = Object.entries(methods).map(([name, method]) => {
    const operation = operationOf(name);
    const call = (request: never, options: CallOptions = {}) =>
      measure(operation, () =>
        client.call(method as GrpcMethod<never, unknown>, request, { timeoutMs, ...options }),
      );
    return [name, call];
  });
  return Object.fromEntries(calls) as Calls<Methods>;
}

/** `runPodSandbox`: upstream's metrics say `run_podsandbox`. */
function operationOf(method: string): string {
  return method
    .replace("PodSandbox", "Podsandbox")
    .replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function unmeasured<T>(_operation: string, work: () => Promise<T>): Promise<T> {
  return work();
}
