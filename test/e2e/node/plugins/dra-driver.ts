/**
 * A DRA driver's kubelet plug-in for tests, a program of its own. A prepared claim is one CDI device
 * that sets the variable CLAIM. Arguments: the kubelet's folder, DATA for a line per call, and the
 * folder of CDI specifications.
 */
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { draMethods } from "#kubelet/dra/dra-messages.ts";
import { registrationMethods } from "#kubelet/plugins/registration-messages.ts";
import { DRA_DRIVER } from "./plugin-names.ts";
import { serveGrpc } from "./serve-grpc.ts";

const [, , kubelet = "", data = "", cdi = ""] = process.argv;
const KIND = "k8ts.example/claim";

interface Claims {
  readonly claims: readonly { readonly uid: string; readonly name: string }[];
}

function prepare({ claims }: Claims): object {
  return {
    claims: claims.map(({ uid, name }) => {
      const edits = { env: [`CLAIM=${name}`] };
      const spec = {
        cdiVersion: "0.5.0",
        kind: KIND,
        devices: [{ name: uid, containerEdits: edits }],
      };
      writeFileSync(join(cdi, `claim-${uid}.json`), JSON.stringify(spec));
      const device = { requestNames: ["lamp"], poolName: "node-1", deviceName: "dev-1" };
      return { uid, result: { devices: [{ ...device, cdiDeviceIds: [`${KIND}=${uid}`] }] } };
    }),
  };
}

function unprepare({ claims }: Claims): object {
  for (const { uid } of claims) rmSync(join(cdi, `claim-${uid}.json`), { force: true });
  return { claims: claims.map(({ uid }) => ({ uid, result: {} })) };
}

function noted(name: string, handle: (request: Claims) => object) {
  return (request: Claims): object => {
    const names = request.claims.map((claim) => claim.name);
    appendFileSync(join(data, "calls"), `${name} ${names.join()}\n`);
    return handle(request);
  };
}

const methods = draMethods("v1");
const endpoint = join(kubelet, "plugins", DRA_DRIVER, "dra.sock");
for (const folder of [data, cdi, join(endpoint, "..")]) mkdirSync(folder, { recursive: true });
await serveGrpc(endpoint, {
  prepare: { method: methods.prepare, handle: noted("prepare", prepare) },
  unprepare: { method: methods.unprepare, handle: noted("unprepare", unprepare) },
});
await serveGrpc(join(kubelet, "plugins_registry", `${DRA_DRIVER}-reg.sock`), {
  getInfo: {
    method: registrationMethods.getInfo,
    handle: () => ({
      type: "DRAPlugin",
      name: DRA_DRIVER,
      endpoint,
      supportedVersions: ["v1.DRAPlugin"],
    }),
  },
  notify: { method: registrationMethods.notifyRegistrationStatus, handle: () => ({}) },
});
console.log("serving");
