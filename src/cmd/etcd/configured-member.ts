/** The names and addresses of the managed member of a data directory, by the flags that it remembers. */
import { urlOf } from "#etcd/etcd-arguments.ts";
import type { MemberRecord } from "#etcd/member-record.ts";
import { FlagError } from "../flags/parse-flags.ts";
import { memberAddress } from "../up/components/etcd-component.ts";
import { configuredStart } from "../up/config/config-file.ts";
import { parseUpFlags, upOptions } from "../up/up-flags.ts";

export interface ConfiguredMember {
  readonly name: string;
  readonly peerUrl: string;
  readonly clientUrl: string;
}

export function configuredMember(dataDir: string, { name }: MemberRecord): ConfiguredMember {
  const { args } = configuredStart([`--data=${dataDir}`], upOptions());
  const { etcd, server } = parseUpFlags(args);
  if (etcd === undefined) throw new FlagError(`${dataDir} has no managed etcd`);
  const address = memberAddress(server);
  return {
    name,
    peerUrl: urlOf(address, etcd.peerPort),
    clientUrl: urlOf(address, etcd.clientPort),
  };
}
