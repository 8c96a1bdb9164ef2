/** The text of a program: a gRPC server that answers `grpc.health.v1.Health/Check` with SERVING. */
export function grpcHealthServer(port: number): string {
  return `
    const server = require("node:http2").createServer();
    server.on("stream", (stream) => {
      stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.end(Buffer.from([0, 0, 0, 0, 2, 8, 1]));
    });
    server.listen(${port}, "0.0.0.0", () => console.log("listening"));
  `;
}
