/** A kubelet may request tokens only for audiences of its pods' volumes, or ones granted by RBAC. */

import type { TokenRequest } from "#api/generated/authentication.v1.ts";
import type { Pod } from "#api/generated/core.v1.ts";
import { persistentVolumeKind } from "#api/kinds/core/v1/persistent-volume/persistent-volume.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { csiDriverKind } from "#api/kinds/storage/v1/csi-driver.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import type { Authorizer } from "../../../authz/authorizer.ts";
import type { Objects } from "../../../storage/objects.ts";
import type { AdmissionRequest } from "../../admission-request.ts";

interface Asked {
  readonly asked: TokenRequest;
  readonly pod: Pod;
  readonly request: AdmissionRequest;
  readonly objects: Objects;
  readonly authorizer: Authorizer;
}

export async function audienceFault({
  asked,
  pod,
  request,
  objects,
  authorizer,
}: Asked): Promise<string | undefined> {
  const audiences = asked.spec.audiences ?? [];
  if (audiences.length > 1) return "node may only request 0 or 1 audiences";
  const audience = audiences[0] ?? "";
  if (podAudiences(pod, objects).includes(audience)) return undefined;
  const { user, namespace, name } = request;
  const { decision } = await authorizer.authorize({
    user,
    isResource: true,
    verb: "request-serviceaccounts-token-audience",
    path: "",
    group: "",
    version: "v1",
    resource: audience,
    subresource: "",
    namespace,
    name,
  });
  if (decision === "allow") return undefined;
  return (
    `audience ${goQuote(audience)} not found in pod spec volume, ${user.name} is not authorized to ` +
    "request tokens for this audience"
  );
}

function podAudiences(pod: Pod, objects: Objects): string[] {
  return (pod.spec.volumes ?? []).flatMap(
    ({ name, projected, csi, persistentVolumeClaim, ephemeral }) => {
      const tokens = (projected?.sources ?? []).flatMap(({ serviceAccountToken }) =>
        serviceAccountToken === undefined ? [] : [serviceAccountToken.audience ?? ""],
      );
      const claim =
        persistentVolumeClaim?.claimName ??
        (ephemeral === undefined ? undefined : `${pod.metadata.name}-${name}`);
      const driver =
        csi?.driver ?? (claim === undefined ? undefined : claimDriver(pod, claim, objects));
      const ofDriver = driver === undefined ? undefined : objects.get(csiDriverKind, "", driver);
      const requests = ofDriver?.spec.tokenRequests ?? [];
      return [...tokens, ...requests.map(({ audience }) => audience)];
    },
  );
}

function claimDriver(pod: Pod, claimName: string, objects: Objects): string | undefined {
  const claim = objects.get(persistentVolumeClaimKind, pod.metadata.namespace ?? "", claimName);
  const volumeName = claim?.spec.volumeName ?? "";
  return objects.get(persistentVolumeKind, "", volumeName)?.spec.csi?.driver;
}
