/** Names of the plug-ins that the tests have. */
export const CSI_DRIVER = "folder.csi.k8ts.example";
export const DEVICE_RESOURCE = "k8ts.example/lamp";
export const DRA_DRIVER = "dra.k8ts.example";
