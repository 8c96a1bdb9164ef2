/** SRV records of the ports of a Service or of its endpoints, with the addresses of their targets. */
import { type Lookup, recordsOf } from "./lookup.ts";
import { type AddressRecord, addressRecord, type SrvRecord } from "./records.ts";

/** A port at an address that the name `host` has. */
export interface ServicePoint {
  readonly host: string;
  readonly address: readonly number[];
  /** 0 where no port is declared: there is no SRV record of it. */
  readonly port: number;
}

/** The weights of all records add up to about this, as with CoreDNS. */
const WEIGHT_TOTAL = 100;

export function srvRecords(name: string, points: readonly ServicePoint[]): Lookup {
  const weight = Math.max(1, Math.floor(WEIGHT_TOTAL / points.length));
  const answers = new Map<string, SrvRecord>();
  const additionals = new Map<string, AddressRecord>();
  for (const { host, address, port } of points) {
    if (port === 0) continue;
    answers.set(`${host}:${port}`, { type: "SRV", name, priority: 0, weight, port, target: host });
    additionals.set(`${host}:${address}`, addressRecord(host, address));
  }
  return recordsOf([...answers.values()], [...additionals.values()]);
}
