/**
 * An operator: every `Website` (a custom resource) has a Deployment of its replicas and a Service, and its
 * status says how many of them are ready.
 *
 *     npm install k8ts tsx && npx tsx website-operator.ts ~/.k8ts/kubeconfig
 */
import { fileURLToPath } from "node:url";
import {
  type Caches,
  create,
  defineController,
  idle,
  type Key,
  type KubeObject,
  type Outcome,
  ownKey,
  resource,
  runController,
  update,
  updateStatus,
} from "k8ts/controller";

export interface Website extends KubeObject {
  readonly spec: { readonly image: string; readonly replicas: number };
  readonly status?: { readonly ready: number };
}
interface Deployment extends KubeObject {
  readonly spec: { readonly replicas?: number };
  readonly status?: { readonly readyReplicas?: number };
}

const websites = resource<Website>("example.com/v1", "Website", "websites");
const deployments = resource<Deployment>("apps/v1", "Deployment", "deployments");
const services = resource<KubeObject>("v1", "Service", "services");

/** For `kubectl apply`, and for tests. */
export const websiteDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: websites.example.com }
spec:
  group: example.com
  scope: Namespaced
  names: { kind: Website, plural: websites, singular: website }
  versions:
    - name: v1
      served: true
      storage: true
      subresources: { status: {} }
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              required: [image, replicas]
              properties: { image: { type: string }, replicas: { type: integer, minimum: 0 } }
            status: { type: object, properties: { ready: { type: integer } } }
`;

interface State {
  readonly website: Website;
  readonly deployment: Deployment | undefined;
  readonly service: KubeObject | undefined;
}

export const websiteOperator = defineController<State | undefined>({
  name: "website-operator",
  feeds: [
    { kind: websites, keys: ownKey },
    // Both have the name of their website.
    { kind: deployments, keys: ownKey },
    { kind: services, keys: ownKey },
  ],
  observe: (caches, key) => observe(caches, key),
  decide: (state) => (state === undefined ? idle : decide(state)),
});

function observe(caches: Caches, { namespace, name }: Key): State | undefined {
  const website = caches(websites).get(namespace, name);
  if (website === undefined || website.metadata.deletionTimestamp !== undefined) return undefined;
  return {
    website,
    deployment: caches(deployments).get(namespace, name),
    service: caches(services).get(namespace, name),
  };
}

/** Pure: the same state always gives the same writes. */
export function decide({ website, deployment, service }: State): Outcome {
  const { spec, status } = website;
  const ready = deployment?.status?.readyReplicas ?? 0;
  return {
    writes: [
      ...(deployment === undefined ? [create(deployments, deploymentOf(website))] : []),
      ...(deployment !== undefined && deployment.spec.replicas !== spec.replicas
        ? [
            update(deployments, {
              ...deployment,
              spec: { ...deployment.spec, replicas: spec.replicas },
            }),
          ]
        : []),
      ...(service === undefined ? [create(services, serviceOf(website))] : []),
      ...(status?.ready === ready
        ? []
        : [updateStatus(websites, { ...website, status: { ready } })]),
    ],
  };
}

function deploymentOf(website: Website): Deployment {
  const labels = { website: website.metadata.name ?? "" };
  const { image, replicas } = website.spec;
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: metadataOf(website),
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "site", image }] } },
    },
  } as Deployment;
}

function serviceOf(website: Website): KubeObject {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: metadataOf(website),
    spec: { selector: { website: website.metadata.name }, ports: [{ port: 80 }] },
  } as KubeObject;
}

/** What the website owns goes when it goes. */
function metadataOf({ apiVersion, kind, metadata }: Website): KubeObject["metadata"] {
  const { namespace, name = "", uid = "" } = metadata;
  const owner = { apiVersion: apiVersion ?? "", kind: kind ?? "", name, uid, controller: true };
  return { ...(namespace === undefined ? {} : { namespace }), name, ownerReferences: [owner] };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const controller = new AbortController();
  process.once("SIGINT", () => controller.abort());
  const kubeconfig = process.argv[2];
  await runController([websiteOperator], {
    signal: controller.signal,
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
  });
}
