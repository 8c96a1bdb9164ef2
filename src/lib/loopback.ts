/** Whether only this machine can reach an address: `localhost`, 127.0.0.0/8 or ::1. */
export function isLoopback(address: string): boolean {
  return address === "localhost" || address === "::1" || address.startsWith("127.");
}
