/** A kubeconfig with one cluster and one user, everything it needs inside it. */
import type { KeyPair } from "./key-pair.ts";

export interface KubeconfigContent {
  readonly server: string;
  readonly authorityPem: string;
  readonly user: string;
  readonly client: KeyPair;
}

export function formatKubeconfig({
  server,
  authorityPem,
  user,
  client,
}: KubeconfigContent): string {
  return `apiVersion: v1
kind: Config
clusters:
- name: k8ts
  cluster:
    server: ${server}
    certificate-authority-data: ${base64(authorityPem)}
users:
- name: ${user}
  user:
    client-certificate-data: ${base64(client.certificatePem)}
    client-key-data: ${base64(client.keyPem)}
contexts:
- name: k8ts
  context:
    cluster: k8ts
    user: ${user}
current-context: k8ts
`;
}

/**
 * The first cluster and user of a kubeconfig that carries its data inside it. Files that kubectl
 * has rewritten since (another namespace, another context) are understood too.
 */
export function parseKubeconfig(text: string): KubeconfigContent | undefined {
  const field = (name: string): string | undefined =>
    new RegExp(`^ +${name}: (\\S+)$`, "m").exec(text)?.[1];
  const server = field("server");
  const user = field("user");
  const [authorityPem, certificatePem, keyPem] = [
    "certificate-authority-data",
    "client-certificate-data",
    "client-key-data",
  ].map((name) => Buffer.from(field(name) ?? "", "base64").toString());
  if (!server || !user || !authorityPem || !certificatePem || !keyPem) return undefined;
  return { server, authorityPem, user, client: { certificatePem, keyPem } };
}

/** The same file with another server and other credentials in the places that are read. */
export function changeKubeconfig(
  text: string,
  { server, authorityPem, client }: KubeconfigContent,
): string {
  const fields = {
    server,
    "certificate-authority-data": base64(authorityPem),
    "client-certificate-data": base64(client.certificatePem),
    "client-key-data": base64(client.keyPem),
  };
  return Object.entries(fields).reduce(
    (changed, [name, value]) =>
      changed.replace(new RegExp(`^( +${name}: )\\S+$`, "m"), (_, head: string) => head + value),
    text,
  );
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
