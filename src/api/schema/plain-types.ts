/** The types of the fact tables that are no structs: scalars, and those that hold any JSON. */
import type { Scalar } from "./schema.ts";

export const SCALARS: Readonly<Record<string, { scalar: Scalar; goType: string }>> = {
  string: { scalar: "string", goType: "string" },
  bool: { scalar: "bool", goType: "bool" },
  int: { scalar: "int", goType: "int" },
  int32: { scalar: "int32", goType: "int32" },
  int64: { scalar: "int64", goType: "int64" },
  float64: { scalar: "float64", goType: "float64" },
  bytes: { scalar: "bytes", goType: "[]uint8" },
  Time: { scalar: "Time", goType: "v1.Time" },
  MicroTime: { scalar: "MicroTime", goType: "v1.MicroTime" },
  Duration: { scalar: "Duration", goType: "v1.Duration" },
  Quantity: { scalar: "Quantity", goType: "resource.Quantity" },
  IntOrString: { scalar: "IntOrString", goType: "intstr.IntOrString" },
  UID: { scalar: "UID", goType: "types.UID" },
  NodeName: { scalar: "string", goType: "types.NodeName" },
};

/** Types that hold any JSON; some of them may also be a JSON schema. */
export const ANY: Readonly<Record<string, { goType: string; struct?: string }>> = {
  "interface{}": { goType: "interface {}" },
  RawExtension: { goType: "runtime.RawExtension" },
  FieldsV1: { goType: "v1.FieldsV1" },
  JSON: { goType: "v1.JSON" },
  JSONSchemaPropsOrArray: { goType: "v1.JSONSchemaPropsOrArray", struct: "JSONSchemaProps" },
  JSONSchemaPropsOrBool: { goType: "v1.JSONSchemaPropsOrBool", struct: "JSONSchemaProps" },
  JSONSchemaPropsOrStringArray: {
    goType: "v1.JSONSchemaPropsOrStringArray",
    struct: "JSONSchemaProps",
  },
};
