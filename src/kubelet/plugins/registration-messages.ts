/** pluginregistration v1: what the kubelet asks a plug-in on its registration socket. */
import { message } from "#lib/protobuf/message.ts";

const empty = message({});
const pluginInfo = message({
  type: [1, "text"],
  name: [2, "text"],
  endpoint: [3, "text"],
  supportedVersions: [4, { list: "text" }],
});
const registrationStatus = message({ pluginRegistered: [1, "bool"], error: [2, "text"] });

const SERVICE = "/pluginregistration.Registration";

export const registrationMethods = {
  getInfo: { path: `${SERVICE}/GetInfo`, request: empty, response: pluginInfo },
  notifyRegistrationStatus: {
    path: `${SERVICE}/NotifyRegistrationStatus`,
    request: registrationStatus,
    response: empty,
  },
} as const;
