/** A pod as a Deployment of a web service makes it: what the API benchmarks read and write. */
export const samplePod = {
  kind: "Pod",
  apiVersion: "v1",
  metadata: {
    name: "web-6c9f7d5b48-x2x7q",
    generateName: "web-6c9f7d5b48-",
    namespace: "shop",
    labels: { app: "web", "pod-template-hash": "6c9f7d5b48", tier: "frontend" },
    annotations: { "prometheus.io/scrape": "true", "prometheus.io/port": "9102" },
    ownerReferences: [
      {
        apiVersion: "apps/v1",
        kind: "ReplicaSet",
        name: "web-6c9f7d5b48",
        uid: "0d4f8a5e-5c39-4e43-9be2-37f0b1a3c111",
        controller: true,
        blockOwnerDeletion: true,
      },
    ],
  },
  spec: {
    volumes: [
      { name: "config", configMap: { name: "web-config", defaultMode: 420 } },
      { name: "cache", emptyDir: { sizeLimit: "64Mi" } },
      {
        name: "kube-api-access-7t2ml",
        projected: {
          sources: [
            { serviceAccountToken: { expirationSeconds: 3607, path: "token" } },
            { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
            {
              downwardAPI: {
                items: [
                  {
                    path: "namespace",
                    fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" },
                  },
                ],
              },
            },
          ],
          defaultMode: 420,
        },
      },
    ],
    containers: [
      {
        name: "web",
        image: "registry.example.com/shop/web:1.25.3",
        args: ["--listen=:8080", "--metrics=:9102"],
        ports: [
          { name: "http", containerPort: 8080, protocol: "TCP" },
          { name: "metrics", containerPort: 9102, protocol: "TCP" },
        ],
        env: [
          { name: "LOG_LEVEL", value: "info" },
          {
            name: "POD_IP",
            valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "status.podIP" } },
          },
          { name: "DB_PASSWORD", valueFrom: { secretKeyRef: { name: "web-db", key: "password" } } },
        ],
        resources: {
          limits: { cpu: "500m", memory: "256Mi" },
          requests: { cpu: "100m", memory: "128Mi" },
        },
        volumeMounts: [
          { name: "config", readOnly: true, mountPath: "/etc/web" },
          { name: "cache", mountPath: "/var/cache/web" },
          {
            name: "kube-api-access-7t2ml",
            readOnly: true,
            mountPath: "/var/run/secrets/kubernetes.io/serviceaccount",
          },
        ],
        livenessProbe: {
          httpGet: { path: "/healthz", port: "http", scheme: "HTTP" },
          initialDelaySeconds: 5,
          timeoutSeconds: 1,
          periodSeconds: 10,
          successThreshold: 1,
          failureThreshold: 3,
        },
        readinessProbe: {
          httpGet: { path: "/ready", port: "http", scheme: "HTTP" },
          timeoutSeconds: 1,
          periodSeconds: 5,
          successThreshold: 1,
          failureThreshold: 3,
        },
        terminationMessagePath: "/dev/termination-log",
        terminationMessagePolicy: "File",
        imagePullPolicy: "IfNotPresent",
        securityContext: { runAsNonRoot: true, allowPrivilegeEscalation: false },
      },
    ],
    restartPolicy: "Always",
    terminationGracePeriodSeconds: 30,
    dnsPolicy: "ClusterFirst",
    serviceAccountName: "web",
    serviceAccount: "web",
    securityContext: { runAsUser: 1000, fsGroup: 1000 },
    schedulerName: "default-scheduler",
    tolerations: [
      {
        key: "node.kubernetes.io/not-ready",
        operator: "Exists",
        effect: "NoExecute",
        tolerationSeconds: 300,
      },
      {
        key: "node.kubernetes.io/unreachable",
        operator: "Exists",
        effect: "NoExecute",
        tolerationSeconds: 300,
      },
    ],
    priority: 0,
    enableServiceLinks: true,
    preemptionPolicy: "PreemptLowerPriority",
  },
  status: { phase: "Pending", qosClass: "Burstable" },
} as const;
