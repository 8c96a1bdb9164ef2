/** The signals that can be asked for to stop a container, in the order in which messages list them. */
const NAMED =
  "ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP " +
  "SYS TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ RTMIN RTMAX";
const AFTER_FIRST = 15;
const BEFORE_LAST = 14;

export const LINUX_STOP_SIGNALS: readonly string[] = [
  ...NAMED.split(" "),
  ...Array.from({ length: AFTER_FIRST }, (_, i) => `RTMIN+${i + 1}`),
  ...Array.from({ length: BEFORE_LAST }, (_, i) => `RTMAX-${i + 1}`),
]
  .map((name) => `SIG${name}`)
  .sort();

export const WINDOWS_STOP_SIGNALS: readonly string[] = ["SIGKILL", "SIGTERM"];
