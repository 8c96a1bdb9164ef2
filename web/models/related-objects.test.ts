import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { KubeObject } from "./kube-object.ts";
import { referencesOf, relatedCollections } from "./related-objects.ts";

const metadata = { name: "web", namespace: "shop", uid: "u1" };

function collectionsOf(group: string, plural: string, spec: KubeObject["spec"] = {}): unknown {
  return relatedCollections({ group, plural }, { metadata, spec });
}

describe("relatedCollections of an object", () => {
  test("a Deployment has its ReplicaSets, by owner, and pods, by its label selector", () => {
    const matchExpressions = [
      { key: "tier", operator: "In", values: ["a", "b"] },
      { key: "old", operator: "DoesNotExist" },
    ];
    const labelSelector = "app=web,tier in (a,b),!old";
    const selector = { matchLabels: { app: "web" }, matchExpressions };
    assert.deepEqual(collectionsOf("apps", "deployments", { selector }), [
      {
        ...{ title: "ReplicaSets", group: "apps", plural: "replicasets" },
        ...{ labelSelector, ownerUid: "u1" },
      },
      { title: "Pods", group: "", plural: "pods", labelSelector },
    ]);
  });

  test("a Service has its EndpointSlices and pods, one without a selector EndpointSlices only", () => {
    const slices = { title: "EndpointSlices", group: "discovery.k8s.io", plural: "endpointslices" };
    const ofService = { ...slices, labelSelector: "kubernetes.io/service-name=web" };
    const pods = { title: "Pods", group: "", plural: "pods", labelSelector: "app=web" };
    assert.deepEqual(collectionsOf("", "services", { selector: { app: "web" } }), [
      ofService,
      pods,
    ]);
    assert.deepEqual(collectionsOf("", "services"), [ofService]);
  });

  test("a node has the pods on it, a CronJob its Jobs, a ConfigMap nothing", () => {
    assert.deepEqual(collectionsOf("", "nodes"), [
      { title: "Pods", group: "", plural: "pods", fieldSelector: "spec.nodeName=web" },
    ]);
    assert.deepEqual(collectionsOf("batch", "cronjobs"), [
      { title: "Jobs", group: "batch", plural: "jobs", ownerUid: "u1" },
    ]);
    assert.deepEqual(collectionsOf("", "configmaps"), []);
  });

  test("an empty label selector of a PodDisruptionBudget is no reason to list every pod", () => {
    assert.deepEqual(collectionsOf("policy", "poddisruptionbudgets", { selector: {} }), []);
  });
});

describe("referencesOf an object", () => {
  const named = (kind: string, spec: KubeObject["spec"]): readonly string[] =>
    referencesOf({ kind, metadata, spec: spec ?? {} }).map(
      (each) => `${each.group}/${each.kind} ${each.namespace}/${each.name}`,
    );

  test("a Pod names its node, ServiceAccount and volumes, each once", () => {
    const volumes = [
      { persistentVolumeClaim: { claimName: "data" } },
      { configMap: { name: "settings" } },
      { configMap: { name: "settings" } },
      { secret: { secretName: "key" } },
      { emptyDir: {} },
    ];
    assert.deepEqual(named("Pod", { nodeName: "n1", serviceAccountName: "default", volumes }), [
      "/Node /n1",
      "/ServiceAccount shop/default",
      "/PersistentVolumeClaim shop/data",
      "/ConfigMap shop/settings",
      "/Secret shop/key",
    ]);
  });

  test("an Ingress names its class, Services and TLS Secrets", () => {
    const spec = {
      ingressClassName: "k8ts",
      defaultBackend: { service: { name: "rest" } },
      rules: [{ http: { paths: [{ backend: { service: { name: "web" } } }] } }, { host: "x" }],
      tls: [{ secretName: "pair" }],
    };
    assert.deepEqual(named("Ingress", spec), [
      "networking.k8s.io/IngressClass /k8ts",
      "/Service shop/rest",
      "/Service shop/web",
      "/Secret shop/pair",
    ]);
  });

  test("a HorizontalPodAutoscaler names its scale target, a claim its PersistentVolume", () => {
    const scaleTargetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "web" };
    assert.deepEqual(named("HorizontalPodAutoscaler", { scaleTargetRef }), [
      "apps/Deployment shop/web",
    ]);
    assert.deepEqual(named("PersistentVolumeClaim", { volumeName: "pv1" }), [
      "/PersistentVolume /pv1",
    ]);
  });

  test("hostile fields of other types name nothing", () => {
    assert.deepEqual(named("Ingress", { rules: "x", tls: [7], defaultBackend: null }), []);
  });
});
