/** Addresses of load balancers unless others are given: beside the pods' range of `k8ts up`. */
export const LOCAL_RANGES: readonly string[] = ["10.245.0.0/24", "fd00:10:245::/120"];
