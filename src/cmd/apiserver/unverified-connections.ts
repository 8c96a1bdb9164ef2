/** What the API server does not verify on its way to the nodes, said once when it starts. */
import type { Logger } from "#lib/logger.ts";
import type { ApiServerFlags } from "./flags/flags.ts";

export function warnOfUnverifiedConnections(
  { kubeletCertificateAuthority, sshUser }: ApiServerFlags,
  logger: Logger,
): void {
  if (kubeletCertificateAuthority === undefined) {
    logger.warn(
      "--kubelet-certificate-authority is not set: serving certificates of kubelets are not verified, and connections to nodes, pods and Services through the proxy are never verified; on networks that are not trusted they can be intercepted unless they go through a tunnel",
    );
  }
  if (sshUser !== undefined) {
    logger.warn("--ssh-user is deprecated; host keys of nodes are not verified by SSH tunnels");
  }
}
