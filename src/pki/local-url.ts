/** The URL under which a program on the same machine reaches a server that listens on an address. */
export function localUrl(bindAddress: string, port: number): string {
  const everywhere = bindAddress === "0.0.0.0" || bindAddress === "::";
  const host = everywhere ? "127.0.0.1" : bindAddress;
  return `https://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
