/** DRA plug-in API: v1, and v1beta1, whose messages are the same. */
import { message, type WriteOf } from "#lib/protobuf/message.ts";

const claim = message({ namespace: [1, "text"], uid: [2, "text"], name: [3, "text"] });
export type DraClaim = WriteOf<typeof claim>;

const device = message({
  requestNames: [1, { list: "text" }],
  poolName: [2, "text"],
  deviceName: [3, "text"],
  cdiDeviceIds: [4, { list: "text" }],
});
const prepared = message({ devices: [1, { many: device }], error: [2, "text"] });
const unprepared = message({ error: [1, "text"] });

/** Maps of the protocol, as entries: the key is the claim's uid. */
const claims = message({ claims: [1, { many: claim }] });
const preparedClaims = message({
  claims: [1, { many: message({ uid: [1, "text"], result: [2, { one: prepared }] }) }],
});
const unpreparedClaims = message({
  claims: [1, { many: message({ uid: [1, "text"], result: [2, { one: unprepared }] }) }],
});

export const DRA_VERSIONS = ["v1", "v1beta1"] as const;
export type DraVersion = (typeof DRA_VERSIONS)[number];

export function draMethods(version: DraVersion) {
  const service = `/k8s.io.kubelet.pkg.apis.dra.${version}.DRAPlugin`;
  return {
    prepare: {
      path: `${service}/NodePrepareResources`,
      request: claims,
      response: preparedClaims,
    },
    unprepare: {
      path: `${service}/NodeUnprepareResources`,
      request: claims,
      response: unpreparedClaims,
    },
  } as const;
}
