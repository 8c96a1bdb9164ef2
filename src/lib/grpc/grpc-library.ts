/**
 * The gRPC library of Node.js, for servers and for clients that share channels (tunnels, device
 * plug-ins). It is loaded by `import()` where it is needed: a program that does not use it saves 4 MB of
 * memory and the time to load it. Calls to one server need only `grpc-client.ts`.
 */
export { Client, credentials, Metadata, Server, ServerCredentials, status } from "@grpc/grpc-js";
