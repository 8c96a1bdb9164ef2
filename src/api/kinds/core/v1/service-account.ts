/** v1 ServiceAccount. */

import { ageColumn, nameColumn } from "#api/columns.ts";
import { RETURNS_OBJECT } from "#api/deletion-rules.ts";
import type { ServiceAccount } from "#api/generated/core.v1.ts";
import { type Draft, defineKind } from "#api/kind.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { createRoute } from "#api/subresource-route.ts";
import {
  validateFinalizers,
  validateKubeMeta,
  validateKubeMetaUpdate,
} from "#api/validation/kube-meta.ts";
import { nameIsDnsSubdomain } from "#api/validation/names.ts";

const ENFORCE_MOUNTABLE_SECRETS = "kubernetes.io/enforce-mountable-secrets";

export const serviceAccountKind = defineKind<ServiceAccount>({
  group: "",
  version: "v1",
  names: { kind: "ServiceAccount", plural: "serviceaccounts", short: ["sa"] },
  scope: "Namespaced",
  schema: builtInSchema("core.v1.ServiceAccount"),
  extraSubresources: [
    createRoute(
      "token",
      { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" },
      builtInSchema("authentication.v1.TokenRequest"),
    ),
  ],
  deletion: RETURNS_OBJECT,
  nameRule: nameIsDnsSubdomain,
  unconditionalUpdate: true,

  prepareCreate: keepSecretNames,
  validate: ({ metadata }) => validateFinalizers(metadata),
  prepareUpdate: keepSecretNames,
  validateUpdate: (next, old) => [
    ...validateKubeMetaUpdate(next, old),
    ...validateKubeMeta(next.metadata, { namespaced: true, nameRule: nameIsDnsSubdomain }),
  ],
  warnings(account, old) {
    const newlyAsked =
      account.metadata.annotations?.[ENFORCE_MOUNTABLE_SECRETS] !== undefined &&
      old?.metadata.annotations?.[ENFORCE_MOUNTABLE_SECRETS] === undefined;
    if (!newlyAsked) return [];
    return [
      `metadata.annotations[${ENFORCE_MOUNTABLE_SECRETS}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets`,
    ];
  },

  columns: [nameColumn, ageColumn],
});

/** Secrets are named, never pointed to: the other fields of a reference mean nothing here. */
function keepSecretNames(draft: Draft<ServiceAccount>): void {
  if (draft.secrets === undefined) return;
  draft.secrets = draft.secrets.map(({ name }) => (name === undefined ? {} : { name }));
}
