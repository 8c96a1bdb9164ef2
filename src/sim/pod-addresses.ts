/**
 * Addresses of simulated pods. A node's pods take theirs from its pod CIDR, or from a block of
 * 10.128.0.0/10 while it has none.
 *
 * Promises:
 * 1. A pod keeps its address until it is released; no two pods have the same one.
 * 2. An address that was released is given out again as late as possible.
 */
import type { Node, Pod } from "#api/generated/core.v1.ts";

const OWN_BASE = (10 << 24) | (128 << 16);
const OWN_BLOCK = 1 << 8;

interface Block {
  readonly base: number;
  readonly size: number;
  next: number;
  readonly used: Set<number>;
}

export class PodAddresses {
  readonly #blocks = new Map<string, Block>();
  readonly #byUid = new Map<string, { readonly block: Block; readonly offset: number }>();

  /** The addresses of the pod: those that it has, or new ones. */
  of(pod: Pod, node: Node, index: number): readonly string[] {
    const uid = pod.metadata.uid ?? "";
    const known = this.#byUid.get(uid);
    if (known !== undefined) return [textOf(known.block.base + known.offset)];
    const block = this.#block(node, index);
    const reported = pod.status.podIP;
    if (reported !== undefined) {
      this.#keep(uid, block, reported);
      return (pod.status.podIPs ?? []).map(({ ip = "" }) => ip);
    }
    const offset = freeOffset(block);
    if (offset === undefined) return [];
    block.used.add(offset);
    this.#byUid.set(uid, { block, offset });
    return [textOf(block.base + offset)];
  }

  release(uid: string): void {
    const known = this.#byUid.get(uid);
    if (known === undefined) return;
    known.block.used.delete(known.offset);
    this.#byUid.delete(uid);
  }

  /** An address that a pod has already, from before a restart. */
  #keep(uid: string, block: Block, ip: string): void {
    const offset = (numberOf(ip) ?? -1) - block.base;
    if (offset <= 0 || offset >= block.size) return;
    block.used.add(offset);
    this.#byUid.set(uid, { block, offset });
  }

  #block(node: Node, index: number): Block {
    const name = node.metadata.name ?? "";
    const cidr = node.spec.podCIDR ?? "";
    const key = `${name} ${cidr}`;
    let block = this.#blocks.get(key);
    if (block === undefined) {
      block = { ...(rangeOf(cidr) ?? ownRange(index)), next: 1, used: new Set() };
      this.#blocks.set(key, block);
    }
    return block;
  }
}

function freeOffset(block: Block): number | undefined {
  const last = block.size - 2; // without the address of the network and of broadcasts
  for (let tried = 0; tried < last; tried++) {
    const offset = block.next;
    block.next = offset >= last ? 1 : offset + 1;
    if (!block.used.has(offset)) return offset;
  }
  return undefined;
}

function ownRange(index: number): { readonly base: number; readonly size: number } {
  return { base: OWN_BASE + ((index * OWN_BLOCK) % (1 << 22)), size: OWN_BLOCK };
}

/** Undefined for anything but IPv4. */
function rangeOf(cidr: string): { readonly base: number; readonly size: number } | undefined {
  const [ip = "", bits = ""] = cidr.split("/");
  const base = numberOf(ip);
  return base === undefined ? undefined : { base, size: 2 ** (32 - Number(bits)) };
}

function numberOf(ip: string): number | undefined {
  const parts = ip.split(".").map(Number);
  if (parts.length !== 4 || parts.some((part) => !(part >= 0 && part <= 255))) return undefined;
  return parts.reduce((sum, part) => sum * 256 + part, 0);
}

function textOf(address: number): string {
  return [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join(".");
}
