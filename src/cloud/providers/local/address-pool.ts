/** Addresses of load balancers: chosen from ranges, each given to one Service. */
import { type AddressRange, addressAt, addressRange, contains } from "#api/meta/address-range.ts";
import { parseCidr } from "#api/validation/ip.ts";

/** Larger ranges are used up to it. */
const ADDRESSES_MAX = 65_536;

export class AddressPool {
  readonly #ranges: readonly AddressRange[];
  /** By address: who has it. */
  readonly #owners = new Map<string, string>();

  constructor(cidrs: readonly string[]) {
    this.#ranges = cidrs.map((text) => {
      const cidr = parseCidr(text);
      if (cidr === undefined) throw new Error(`${JSON.stringify(text)} is not a CIDR`);
      return addressRange(cidr, text);
    });
  }

  includes(address: string): boolean {
    return this.#ranges.some((range) => contains(range, address));
  }

  addressesOf(owner: string): readonly string[] {
    return [...this.#owners].flatMap(([address, other]) => (other === owner ? [address] : []));
  }

  has(address: string): boolean {
    return this.#owners.has(address);
  }

  /** Gives a certain address; throws if it is not in the ranges or belongs to another. */
  claim(address: string, owner: string): void {
    if (!this.includes(address)) {
      const ranges = this.#ranges.map(({ cidr }) => cidr).join(", ");
      throw new Error(`the address ${address} is not in the range of load balancers (${ranges})`);
    }
    const other = this.#owners.get(address);
    if (other !== undefined && other !== owner) {
      throw new Error(`the address ${address} belongs to another Service`);
    }
    this.#owners.set(address, owner);
  }

  /** Gives the first free address of the family. */
  take(family: string, owner: string): string {
    const ranges = this.#ranges.filter((range) => range.family === family);
    if (ranges.length === 0) throw new Error(`load balancers have no ${family} range`);
    for (const range of ranges) {
      const size = Math.min(Number(range.last - range.first) + 1, ADDRESSES_MAX);
      for (let index = 0; index < size; index++) {
        const address = addressAt(range, index);
        if (this.#owners.has(address)) continue;
        this.#owners.set(address, owner);
        return address;
      }
    }
    throw new Error(`all ${family} addresses of load balancers are in use`);
  }

  /** Answers what the owner had. */
  release(owner: string): readonly string[] {
    const addresses = this.addressesOf(owner);
    for (const address of addresses) this.#owners.delete(address);
    return addresses;
  }
}
