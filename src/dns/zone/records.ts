/** The DNS records of a cluster's zone. Names are lower case, without the dot at the end. */
export type DnsRecord = AddressRecord | TargetRecord | SrvRecord | SoaRecord | TxtRecord;

/** The types that the zone has records of. */
export type RecordType = DnsRecord["type"];

export interface AddressRecord {
  readonly type: "A" | "AAAA";
  readonly name: string;
  /** 4 bytes for A, 16 for AAAA. */
  readonly address: readonly number[];
}

export interface TargetRecord {
  readonly type: "CNAME" | "NS" | "PTR";
  readonly name: string;
  readonly target: string;
}

export interface SrvRecord {
  readonly type: "SRV";
  readonly name: string;
  readonly priority: number;
  readonly weight: number;
  readonly port: number;
  readonly target: string;
}

export interface SoaRecord {
  readonly type: "SOA";
  readonly name: string;
  readonly nameServer: string;
  readonly mailbox: string;
  readonly serial: number;
  readonly refreshSeconds: number;
  readonly retrySeconds: number;
  readonly expireSeconds: number;
  readonly minimumSeconds: number;
}

export interface TxtRecord {
  readonly type: "TXT";
  readonly name: string;
  readonly text: string;
}

export function addressRecord(name: string, address: readonly number[]): AddressRecord {
  return { type: address.length === 4 ? "A" : "AAAA", name, address };
}
