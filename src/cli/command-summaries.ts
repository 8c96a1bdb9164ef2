/**
 * The commands of the overview, which must cost little to print: the commands themselves are loaded only
 * when one is asked for. A test compares the two.
 */
export const COMMANDS: Readonly<Record<string, string>> = {
  up: "run a cluster",
  down: "end the cluster that `up` runs",
  status: "show whether the cluster runs, its components and nodes",
  logs: "show what the cluster in the background has logged",
  kubeconfig: "print the kubeconfig of the cluster",
  dashboard: "open the web dashboard",
  kubelet: "run a node",
  why: "say why a pod runs where it runs, or does not run, and what controllers decided",
  simulate: "run simulated nodes, make them fail and recover",
  image: "import, list, remove, save and build images",
  join: "make this machine a node of a cluster that runs elsewhere",
  token: "make, list and delete the tokens with which machines join",
  node: "add, remove, stop, start and disturb nodes of this machine",
  doctor: "check the data of a cluster",
  apiserver: "run the API server",
  "controller-manager": "run the controllers",
  "cloud-controller-manager": "run the controllers of a cloud provider",
  scheduler: "run the scheduler",
  dns: "run the DNS server",
  ingress: "run the Ingress controller",
  "metrics-server": "serve metrics.k8s.io: usage of nodes and pods",
  proxy: "run the service proxy of a node",
  "konnectivity-server": "run the server of tunnels to nodes",
  "konnectivity-agent": "run the agent of tunnels to nodes",
  snapshot: "save, restore, verify and list snapshots of a cluster's store",
  store: "copy a cluster's store from a data directory to an etcd, or back; list its revisions",
  completion: "print a script that completes commands in bash, zsh or fish",
  version: "print the version",
};
