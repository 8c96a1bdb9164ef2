/** What the API server does not verify on its way to the nodes, said once when it starts. */
import type { Logger } from "#lib/logger.ts";
import { isLoopback } from "#lib/loopback.ts";
import type { ApiServerFlags } from "./flags/flags.ts";

export function warnOfUnverifiedConnections(
  {
    kubeletCertificateAuthority,
    bindAddress,
    sshUser,
  }: Pick<ApiServerFlags, "kubeletCertificateAuthority" | "bindAddress" | "sshUser">,
  logger: Pick<Logger, "warn">,
): void {
  // Nodes of other machines cannot reach a server that listens on loopback only.
  if (kubeletCertificateAuthority === undefined && !isLoopback(bindAddress)) {
    logger.warn(
      "--kubelet-certificate-authority is not set: serving certificates of kubelets are not verified, and connections to nodes, pods and Services through the proxy are never verified; on networks that are not trusted they can be intercepted unless they go through a tunnel",
    );
  }
  if (sshUser !== undefined) {
    logger.warn("--ssh-user is deprecated; host keys of nodes are not verified by SSH tunnels");
  }
}
