/** A Secret that holds a service account's token. */
import type { Secret, ServiceAccount } from "#api/generated/core.v1.ts";

export const ACCOUNT_NAME = "kubernetes.io/service-account.name";
export const ACCOUNT_UID = "kubernetes.io/service-account.uid";

export function isAccountToken({ type }: Secret): boolean {
  return type === "kubernetes.io/service-account-token";
}

/** Of the account that the Secret names; if it names a uid too, it must be that very one. */
export function isTokenOf({ metadata }: Secret, account: ServiceAccount | undefined): boolean {
  const { [ACCOUNT_NAME]: name, [ACCOUNT_UID]: uid = "" } = metadata.annotations ?? {};
  return (
    account !== undefined &&
    metadata.namespace === account.metadata.namespace &&
    name === account.metadata.name &&
    (uid === "" || uid === account.metadata.uid)
  );
}
