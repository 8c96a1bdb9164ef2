/** Failures of drivers in the words that Kubernetes has for them in events. */
import { VolumeError } from "#kubelet/volumes/volume-plugin.ts";
import { GrpcError, grpcCodeName } from "#lib/grpc/grpc-status.ts";

/** Rejects with VolumeError if the call fails with GrpcError. */
export async function rpcError<T>(call: Promise<T>, operation: string): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (!(error instanceof GrpcError)) throw error;
    throw new VolumeError(rpcErrorText(error), operation);
  }
}

/** `rpc error: code = NotFound desc = no such volume` */
function rpcErrorText({ code, message }: GrpcError): string {
  const name = grpcCodeName(code)
    .toLowerCase()
    .replace(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase());
  const words = name === "Cancelled" ? "Canceled" : name === "Ok" ? "OK" : name;
  return `rpc error: code = ${words} desc = ${message}`;
}
