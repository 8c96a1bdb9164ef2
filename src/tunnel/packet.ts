/**
 * The packets of the Konnectivity protocol (apiserver-network-proxy): the same on the streams of agents
 * (`/AgentService/Connect`) and of clients that dial nodes (`/ProxyService/Proxy`).
 */
import { message, type ReadOf, type WriteOf } from "#lib/protobuf/message.ts";

export const PACKET = {
  dialRequest: 0,
  dialResponse: 1,
  closeRequest: 2,
  closeResponse: 3,
  data: 4,
  closeDial: 5,
  drain: 6,
} as const;

const dialRequest = message({ protocol: [1, "text"], address: [2, "text"], random: [3, "int64"] });
const dialResponse = message({ error: [1, "text"], connectId: [2, "int"], random: [3, "int64"] });
const data = message({ connectId: [1, "int"], error: [2, "text"], data: [3, "bytes"] });
const closeRequest = message({ connectId: [1, "int"] });
const closeResponse = message({ error: [1, "text"], connectId: [2, "int"] });
const closeDial = message({ random: [1, "int64"] });
const drain = message({});

const packetCodec = message({
  type: [1, "int"],
  dialRequest: [2, { one: dialRequest }],
  dialResponse: [3, { one: dialResponse }],
  data: [4, { one: data }],
  closeRequest: [5, { one: closeRequest }],
  closeResponse: [6, { one: closeResponse }],
  closeDial: [7, { one: closeDial }],
  drain: [8, { one: drain }],
});

export type ReadPacket = ReadOf<typeof packetCodec>;
export type Packet = WriteOf<typeof packetCodec>;

export const AGENT_PATH = "/AgentService/Connect";
export const PROXY_PATH = "/ProxyService/Proxy";

export function dataPacket(connectId: number, bytes: Uint8Array): Packet {
  return { type: PACKET.data, data: { connectId, data: bytes } };
}

export function closeRequestPacket(connectId: number): Packet {
  return { type: PACKET.closeRequest, closeRequest: { connectId } };
}

export function closeResponsePacket(connectId: number, error = ""): Packet {
  return { type: PACKET.closeResponse, closeResponse: { connectId, error } };
}

/** For gRPC, in both directions. */
export const packetMethod = {
  requestStream: true,
  responseStream: true,
  requestSerialize: (packet: Packet): Buffer => packetCodec.encode(packet),
  requestDeserialize: (bytes: Buffer): ReadPacket => packetCodec.decode(bytes),
  responseSerialize: (packet: Packet): Buffer => packetCodec.encode(packet),
  responseDeserialize: (bytes: Buffer): ReadPacket => packetCodec.decode(bytes),
} as const;
