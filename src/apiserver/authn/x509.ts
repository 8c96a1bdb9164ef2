/** Client certificates: the common name is the user, organizations are the groups. */
import type { Clock } from "#lib/time/clock.ts";
import type { PeerCertificate, User } from "../request/request.ts";
import type { Authenticator } from "./authenticator.ts";
import { authenticated, CREDENTIAL_ID } from "./users.ts";

export function createX509Authenticator(clock: Pick<Clock, "nowMs">): Authenticator {
  // One user per connection, so that later caches can go by identity.
  const users = new WeakMap<PeerCertificate, User>();
  return {
    name: "x509",
    authenticate({ peer: { certificate, certificateFault } }) {
      if (certificateFault !== undefined) return { outcome: "refused", reason: certificateFault };
      if (certificate === undefined) return { outcome: "unknown" };
      if (!certificate.client) {
        // A front-proxy certificate is no user by itself; the proxy has to send user headers.
        return { outcome: "refused", reason: "x509: certificate signed by unknown authority" };
      }
      if (certificate.commonName === "") {
        return { outcome: "refused", reason: "the client certificate has no common name" };
      }
      if (clock.nowMs() > certificate.notAfterMs) {
        return { outcome: "refused", reason: "the client certificate has expired" };
      }
      const user = users.get(certificate) ?? userOf(certificate);
      users.set(certificate, user);
      return { outcome: "known", user };
    },
  };
}

function userOf({ commonName, organizations, uid, fingerprint }: PeerCertificate): User {
  return authenticated({
    name: commonName,
    ...(uid === undefined ? {} : { uid }),
    groups: organizations,
    extra: { [CREDENTIAL_ID]: [`X509SHA256=${fingerprint}`] },
  });
}
