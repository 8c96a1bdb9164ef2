import assert from "node:assert/strict";
import { Socket } from "node:net";
import { test } from "vitest";
import { UnauthenticatedConnections } from "./unauthenticated-connections.ts";

const sockets = (count: number): Socket[] => Array.from({ length: count }, () => new Socket());

test("UnauthenticatedConnections: unauthenticated connections: the 257th ends the oldest", () => {
  const clients = new UnauthenticatedConnections();
  const all = sockets(257);
  for (const socket of all) clients.add(socket);
  assert.deepEqual(
    all.flatMap((socket, n) => (socket.destroyed ? [n] : [])),
    [0],
  );
});

test("unauthenticated connections: one that is authenticated is never ended", () => {
  const clients = new UnauthenticatedConnections();
  const [known, ...others] = sockets(258);
  clients.add(known!);
  clients.remove(known!);
  for (const socket of others) clients.add(socket);
  assert.equal(known!.destroyed, false);
  assert.equal(others[0]!.destroyed, true);
});

test("unauthenticated connections: 4 may send large headers, and others once those are gone", () => {
  const clients = new UnauthenticatedConnections();
  const all = sockets(10);
  for (const socket of all) clients.add(socket);
  const may = all.map((socket) => clients.maySendLargeHeaders(socket));
  assert.equal(may.filter(Boolean).length, 4);
  clients.remove(all[0]!);
  assert.equal(clients.maySendLargeHeaders(all[0]!), true); // it is known now
  assert.equal(clients.maySendLargeHeaders(all[4]!), true);
  assert.equal(clients.maySendLargeHeaders(all[9]!), false);
});
