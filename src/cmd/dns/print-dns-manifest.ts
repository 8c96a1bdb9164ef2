/** `k8ts dns manifest`: prints the DNS server as a Deployment and, if asked to, writes the image that it runs. */
import { tmpdir } from "node:os";
import { resolve } from "node:path";
import { Command as Parser } from "commander";
import { dump } from "js-yaml";
import { CLUSTER_DOMAIN } from "#dns/run-dns.ts";
import { address, integer } from "../flags/flag-values.ts";
import { parseArguments, refuseFlags } from "../flags/parse-flags.ts";
import { writeOwnImage } from "../manifests/own-image.ts";
import { type DnsManifestPlan, dnsManifest } from "./dns-manifest.ts";

interface ManifestFlags extends DnsManifestPlan {
  readonly imageArchive?: string;
}

export async function printDnsManifest(
  args: readonly string[],
  signal: AbortSignal,
): Promise<number> {
  try {
    const flags = parseArguments(manifestParser(), args).opts<ManifestFlags>();
    if (flags.imageArchive !== undefined) {
      const image = { name: flags.image, program: process.argv[1] ?? "", withEtcd: false };
      await writeOwnImage(image, resolve(flags.imageArchive), tmpdir(), signal);
    }
    const documents = dnsManifest(flags).map((object) => dump(object, { lineWidth: -1 }));
    process.stdout.write(documents.join("---\n"));
    return 0;
  } catch (error) {
    return refuseFlags(error);
  }
}

function manifestParser(): Parser {
  return new Parser("k8ts dns manifest")
    .description("Prints the objects that run the DNS server in pods, for `kubectl apply -f -`.")
    .option("--image <name>", "the image that the pods run", "k8ts.local/k8ts:1")
    .option("--image-archive <file>", "also write that image, for `k8ts image import`")
    .option("--cluster-ip <ip>", "of the Service kube-dns", address, "10.96.0.10")
    .option("--cluster-domain <domain>", "the domain of the cluster's names", CLUSTER_DOMAIN)
    .option("--replicas <count>", "how many pods", integer, 2);
}
