/** Names of signals as CRI numbers them: alphabetical, then the real-time signals. */
const NAMED =
  "RUNTIME_DEFAULT SIGABRT SIGALRM SIGBUS SIGCHLD SIGCLD SIGCONT SIGFPE SIGHUP SIGILL SIGINT SIGIO SIGIOT SIGKILL SIGPIPE SIGPOLL SIGPROF SIGPWR SIGQUIT SIGSEGV SIGSTKFLT SIGSTOP SIGSYS SIGTERM SIGTRAP SIGTSTP SIGTTIN SIGTTOU SIGURG SIGUSR1 SIGUSR2 SIGVTALRM SIGWINCH SIGXCPU SIGXFSZ SIGRTMIN".split(
    " ",
  );

/** 0 for names that CRI does not have: the runtime's own choice. */
export function stopSignalNumber(name: string): number {
  const index = NAMED.indexOf(name);
  if (index >= 0) return index;
  const realtime = /^SIGRT(MIN\+|MAX-)(\d+)$/.exec(name);
  if (realtime === null) return name === "SIGRTMAX" ? 65 : 0;
  const [, base, offset = "0"] = realtime;
  return base === "MIN+" ? 35 + Number(offset) : 65 - Number(offset);
}
