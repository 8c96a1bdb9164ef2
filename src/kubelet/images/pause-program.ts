/**
 * The program of the pause container, as the bytes of a static ELF executable. It holds a pod's
 * namespaces: it reaps the zombies that it inherits and ends on SIGTERM or SIGINT.
 *
 * The program blocks the three signals and then waits for them in a loop, so it needs no signal
 * handlers and no stack:
 *
 *     sigprocmask(SIG_BLOCK, {SIGINT, SIGTERM, SIGCHLD})
 *     loop: signal = sigtimedwait(the same set, no timeout)
 *           SIGCHLD → wait4(any child, WNOHANG) until there is none left
 *           an error (EINTR) → loop
 *           anything else → exit(0)
 */

/** As Node names them: `process.arch`. */
export type Architecture = "x64" | "arm64";

const SIGINT = 2;
const SIGTERM = 15;
const SIGCHLD = 17;

const ELF_HEADER_BYTES = 64;
const PROGRAM_HEADER_BYTES = 56;
const CODE_OFFSET = ELF_HEADER_BYTES + PROGRAM_HEADER_BYTES;
const LOAD_ADDRESS = 0x400000;

interface Machine {
  /** The ELF number of the processor. */
  readonly id: number;
  readonly pageBytes: number;
  readonly code: () => Uint8Array;
}

const MACHINES: Readonly<Record<Architecture, Machine>> = {
  x64: { id: 62, pageBytes: 0x1000, code: x64Code },
  arm64: { id: 183, pageBytes: 0x10000, code: arm64Code },
};

export function pauseProgram(architecture: Architecture): Uint8Array {
  const { id, pageBytes, code } = MACHINES[architecture];
  const machineCode = code();
  const file = new Uint8Array(CODE_OFFSET + machineCode.length);
  file.set(machineCode, CODE_OFFSET);
  writeElfHeader(new DataView(file.buffer), id);
  writeProgramHeader(new DataView(file.buffer, ELF_HEADER_BYTES), file.length, pageBytes);
  return file;
}

function writeElfHeader(view: DataView, machine: number): void {
  view.setUint32(0, 0x7f454c46); // magic: 0x7f "ELF"
  view.setUint8(4, 2); // 64 bits
  view.setUint8(5, 1); // little-endian
  view.setUint8(6, 1); // version of the format
  view.setUint16(16, 2, true); // an executable
  view.setUint16(18, machine, true);
  view.setUint32(20, 1, true); // version of the format
  view.setBigUint64(24, BigInt(LOAD_ADDRESS + CODE_OFFSET), true); // entry point
  view.setBigUint64(32, BigInt(ELF_HEADER_BYTES), true); // offset of the program headers
  view.setUint16(52, ELF_HEADER_BYTES, true);
  view.setUint16(54, PROGRAM_HEADER_BYTES, true);
  view.setUint16(56, 1, true); // number of program headers
}

/** The whole file is mapped once, readable and executable. */
function writeProgramHeader(view: DataView, fileBytes: number, pageBytes: number): void {
  const readExecute = 5;
  view.setUint32(0, 1, true); // to be loaded
  view.setUint32(4, readExecute, true);
  view.setBigUint64(16, BigInt(LOAD_ADDRESS), true);
  view.setBigUint64(24, BigInt(LOAD_ADDRESS), true);
  view.setBigUint64(32, BigInt(fileBytes), true);
  view.setBigUint64(40, BigInt(fileBytes), true);
  view.setBigUint64(48, BigInt(pageBytes), true);
}

/** The kernel's signal set: bit n-1 stands for signal n. */
function signalSet(): Uint8Array {
  const set = new Uint8Array(8);
  for (const signal of [SIGINT, SIGTERM, SIGCHLD]) {
    const bit = signal - 1;
    set[bit >> 3]! |= 1 << (bit & 7);
  }
  return set;
}

function x64Code(): Uint8Array {
  // Offsets of the labels in the list below.
  const [loop, reap, set] = [23, 61, 84];
  const setFrom = (after: number): number[] => int32(set - after);
  const to = (label: number, after: number): number => (label - after) & 0xff;
  return Uint8Array.from([
    ...[0xb8, ...int32(14)], // 0: mov eax, SYS_rt_sigprocmask
    ...[0x31, 0xff], // 5: xor edi, edi (SIG_BLOCK)
    ...[0x48, 0x8d, 0x35, ...setFrom(14)], // 7: lea rsi, [rip + set]
    ...[0x31, 0xd2], // 14: xor edx, edx
    ...[0x6a, 0x08, 0x41, 0x5a], // 16: push 8; pop r10 (bytes of the set)
    ...[0x0f, 0x05], // 20: syscall
    0x90, // 22: nop
    ...[0xb8, ...int32(128)], // 23 loop: mov eax, SYS_rt_sigtimedwait
    ...[0x48, 0x8d, 0x3d, ...setFrom(35)], // 28: lea rdi, [rip + set]
    ...[0x31, 0xf6], // 35: xor esi, esi
    ...[0x31, 0xd2], // 37: xor edx, edx
    ...[0x6a, 0x08, 0x41, 0x5a], // 39: push 8; pop r10
    ...[0x0f, 0x05], // 43: syscall
    ...[0x83, 0xf8, SIGCHLD], // 45: cmp eax, SIGCHLD
    ...[0x74, to(reap, 50)], // 48: je reap
    ...[0x85, 0xc0], // 50: test eax, eax
    ...[0x78, to(loop, 54)], // 52: js loop
    ...[0x6a, 0x3c, 0x58], // 54: push SYS_exit; pop rax
    ...[0x31, 0xff], // 57: xor edi, edi
    ...[0x0f, 0x05], // 59: syscall
    ...[0x6a, 0x3d, 0x58], // 61 reap: push SYS_wait4; pop rax
    ...[0x6a, 0xff, 0x5f], // 64: push -1; pop rdi (any child)
    ...[0x31, 0xf6], // 67: xor esi, esi
    ...[0x6a, 0x01, 0x5a], // 69: push WNOHANG; pop rdx
    ...[0x45, 0x31, 0xd2], // 72: xor r10d, r10d
    ...[0x0f, 0x05], // 75: syscall
    ...[0x85, 0xc0], // 77: test eax, eax
    ...[0x7f, to(reap, 81)], // 79: jg reap
    ...[0xeb, to(loop, 83)], // 81: jmp loop
    0x90, // 83: nop
    ...signalSet(), // 84 set
  ]);
}

function arm64Code(): Uint8Array {
  // Numbers of the labels' instructions in the list below.
  const [loop, reap, set] = [6, 18, 28];
  const address = (register: number, at: number): number =>
    0x10000000 | ((set - at) << 5) | register; // adr: the offset counts instructions, two low bits are 0
  const move = (register: number, value: number): number => 0xd2800000 | (value << 5) | register;
  const branchIf = (condition: number, label: number, at: number): number =>
    0x54000000 | (((label - at) & 0x7ffff) << 5) | condition;
  const systemCall = 0xd4000001;
  const words = [
    move(8, 135), // 0: SYS_rt_sigprocmask
    move(0, 0), // 1: SIG_BLOCK
    address(1, 2), // 2: the set
    move(2, 0), // 3
    move(3, 8), // 4: bytes of the set
    systemCall, // 5
    move(8, 137), // 6 loop: SYS_rt_sigtimedwait
    address(0, 7), // 7: the set
    move(1, 0), // 8
    move(2, 0), // 9
    move(3, 8), // 10
    systemCall, // 11
    0x7100001f | (SIGCHLD << 10), // 12: cmp w0, SIGCHLD
    branchIf(0, reap, 13), // 13: b.eq reap
    0x37000000 | (31 << 19) | (((loop - 14) & 0x3fff) << 5), // 14: tbnz w0, #31, loop (an error)
    move(8, 93), // 15: SYS_exit
    move(0, 0), // 16
    systemCall, // 17
    move(8, 260), // 18 reap: SYS_wait4
    0x92800000, // 19: mov x0, -1 (any child)
    move(1, 0), // 20
    move(2, 1), // 21: WNOHANG
    move(3, 0), // 22
    systemCall, // 23
    0x37000000 | (31 << 19) | (((loop - 24) & 0x3fff) << 5), // 24: tbnz w0, #31, loop (no child)
    0xb5000000 | (((reap - 25) & 0x7ffff) << 5), // 25: cbnz x0, reap
    0x14000000 | ((loop - 26) & 0x3ffffff), // 26: b loop
    0xd503201f, // 27: nop
  ];
  const code = new Uint8Array(words.length * 4);
  const view = new DataView(code.buffer);
  words.forEach((word, index) => void view.setUint32(index * 4, word >>> 0, true));
  return Uint8Array.from([...code, ...signalSet()]); // 28 set
}

function int32(value: number): number[] {
  return [value & 0xff, (value >> 8) & 0xff, (value >> 16) & 0xff, (value >> 24) & 0xff];
}
