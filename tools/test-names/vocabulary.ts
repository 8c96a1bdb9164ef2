/**
 * The terms of Kubernetes that one would search the tests for.
 *
 * Kinds come from the registry of kinds. A word in the form of an identifier (`hostNetwork`,
 * `FailedScheduling`, `--service-cidr`, `workqueue_depth`, `CRI`, `/readyz`, `spec.replicas`) is a term if the
 * sources have it: fields, types, conditions, reasons, flags and metrics need no list. A plain word is a term
 * only if it is listed below, or if it names what the test file is about. English words that happen to be
 * fields (`name`, `type`, `items`) are none.
 */
import { builtInKinds } from "../../src/api/kinds/built-in-kinds.ts";

/** Plain words are compared in the singular, and a hyphen stands for a space or a capital letter too. */
const WORDS = `
  verbs: patch watch evict eviction drain cordon exec attach port-forward impersonate impersonation
    server-side-apply client-side-apply strategic-merge-patch merge-patch dry-run
  objects: label annotation selector finalizer owner-reference controller-revision resource-version
    field-manager subresource custom-resource structural-schema conversion storage-version tombstone
    garbage-collector discovery object-meta
  pods: container image volume mount probe liveness readiness grace-period restart-policy cgroup cpuset
    static-pod mirror-pod sandbox user-namespace seccomp apparmor selinux sysctl swap hugepage shim device
  storage: claim persistent-volume attachment storage-class reclaim-policy ephemeral-storage
    embedded-store memory-store
  scheduling: scheduler taint toleration affinity topology preemption extender unschedulable
    extended-resource feature-gate
  controllers: controller replica rollout autoscaler informer reflector work-queue resync reconcile
    leader-election backoff
  network: cluster-ip node-port load-balancer network-policy conntrack iptables nftables ipvs veth nginx
    corefile dual-stack IPv4 IPv6
  security: token certificate X.509 webhook audit admission authentication authorization anonymous bearer
    encryption kubeconfig
  API: field-selector label-selector continue-token bookmark compaction compacted revision
    flow-schema priority-level
  programs: kubelet kubectl kube-apiserver kube-proxy kube-scheduler kube-controller-manager API-server etcd
    containerd konnectivity dashboard k8ts-up k8ts-down k8ts-status k8ts-snapshot
  protocols: protobuf websocket hpack goaway keepalive handshake unix-socket content-negotiation
`;

/** Verbs of the API that are everyday words: they are terms at the head of a name (`list: …`), or as `LIST`. */
const HEADINGS = ["get", "list", "create", "update", "delete", "apply"];

const IDENTIFIER = new RegExp(
  [
    /--[a-z][a-z0-9-]+/, // flag
    /(?<=^|[\s"'`(])\/[a-z][a-z0-9/.-]*[a-z0-9]/, // path
    /\b(?:spec|status|metadata)\.[a-z]\w*/, // field path
    /\b[A-Za-z0-9]+[A-Z][A-Za-z0-9]*?(?=s?\b)/, // camelCase, PascalCase, acronym; also in the plural
    /\b[A-Za-z]+(?:_[A-Za-z0-9]+)+\b/, // snake_case
  ]
    .map(({ source }) => source)
    .join("|"),
  "g",
);

/** Up to so many words make a term: certificate signing request, horizontal pod autoscaler. */
const TERM_WORDS_MAX = 4;

/** What a test file is about: the name of the file, and what the source of that name exports. */
export interface Subject {
  readonly phrases: ReadonlySet<string>;
  /** Single words, which are terms at the head of a name only. */
  readonly headings: ReadonlySet<string>;
}

export function subjectOf(names: Iterable<string>): Subject {
  const phrases = new Set<string>();
  const headings = new Set<string>();
  for (const name of names) {
    const phrase = plain(name);
    (phrase.includes(" ") ? phrases : headings).add(phrase);
  }
  return { phrases, headings };
}

export class Vocabulary {
  readonly #identifiers = new Set<string>();
  readonly #phrases = new Set(
    WORDS.replace(/\w+:/g, "").trim().split(/\s+/).concat(namesOfKinds()).map(plain),
  );

  /** Takes the identifiers of a source file. */
  addSource(text: string): void {
    for (const [identifier] of text.matchAll(IDENTIFIER)) this.#identifiers.add(identifier);
  }

  /** The first word in the form of an identifier that the sources have. */
  identifierIn(name: string): string | undefined {
    for (const [identifier] of name.matchAll(IDENTIFIER)) {
      if (this.#identifiers.has(identifier)) return identifier;
    }
    return undefined;
  }

  /** The first term found in the name of a test. */
  termIn(name: string, subject: Subject): string | undefined {
    const identifier = this.identifierIn(name);
    if (identifier !== undefined) return identifier;
    for (const phrase of phrasesOf(name)) {
      if (this.#phrases.has(phrase) || subject.phrases.has(phrase)) return phrase;
    }
    return name
      .split(" > ")
      .map((part) => plain(part.split(":")[0]!))
      .find((head) => subject.headings.has(head) || HEADINGS.includes(head));
  }
}

function namesOfKinds(): string[] {
  return builtInKinds.flatMap(({ names }) => [
    names.kind,
    names.kind.toLowerCase(),
    names.plural,
    // The shorter ones are English words (no, all) or no words.
    ...(names.short ?? []).filter((short) => short.length > 2),
  ]);
}

function* phrasesOf(text: string): Generator<string> {
  const words = plain(text).split(" ");
  for (let length = 1; length <= TERM_WORDS_MAX; length++) {
    for (let at = 0; at + length <= words.length; at++) {
      yield words.slice(at, at + length).join(" ");
    }
  }
}

/** Lower-case words in the singular, with one space between: `nodeSelectors` and `node-selector` are the same. */
function plain(text: string): string {
  return text
    .replace(/([a-z0-9])([A-Z])|([A-Z]+)(?=[A-Z][a-z])/g, "$1$3 $2")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "")
    .map(singular)
    .join(" ");
}

function singular(word: string): string {
  if (word.endsWith("ies")) return `${word.slice(0, -3)}y`;
  if (/(?:ss|x|ch|sh)es$/.test(word)) return word.slice(0, -2);
  return /[^s]s$/.test(word) ? word.slice(0, -1) : word;
}
