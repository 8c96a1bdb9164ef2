/** Facts of apiextensions.v1: format in format.md beside this file. */
export const apiextensionsV1 = `\
group apiextensions.k8s.io
version v1
openapi io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1
proto k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1
= ConversionStrategyType string
= ResourceScope string
= ConditionStatus string
= CustomResourceDefinitionConditionType string
= FieldValueErrorReason string
= ValidationRules []ValidationRule
= JSONSchemaURL string
= JSONSchemaDependencies {string}JSONSchemaPropsOrStringArray
= JSONSchemaDefinitions {string}JSONSchemaProps
CustomResourceDefinitionSpec
  group 1 string !
  names 3 CustomResourceDefinitionNames !
  scope 4 ResourceScope !
  versions 7 []CustomResourceDefinitionVersion ! atomic
  conversion 9 *CustomResourceConversion ~
  preserveUnknownFields 10 bool ~
CustomResourceConversion
  strategy 1 ConversionStrategyType !
  webhook 2 *WebhookConversion ~
WebhookConversion
  clientConfig 2 *WebhookClientConfig ~
  conversionReviewVersions 3 []string ! atomic
WebhookClientConfig
  url 3 *string ~
  service 1 *ServiceReference ~
  caBundle 2 bytes ~
ServiceReference
  namespace 1 string !
  name 2 string !
  path 3 *string ~
  port 4 *int32 ~
CustomResourceDefinitionVersion
  name 1 string !
  served 2 bool !
  storage 3 bool !
  deprecated 7 bool ~
  deprecationWarning 8 *string ~
  schema 4 *CustomResourceValidation ~
  subresources 5 *CustomResourceSubresources ~
  additionalPrinterColumns 6 []CustomResourceColumnDefinition ~ atomic
  selectableFields 9 []SelectableField ~ atomic
SelectableField
  jsonPath 1 string !
CustomResourceColumnDefinition
  name 1 string !
  type 2 string !
  format 3 string ~
  description 4 string ~
  priority 5 int32 ~
  jsonPath 6 string !
CustomResourceDefinitionNames
  plural 1 string !
  singular 2 string ~
  shortNames 3 []string ~ atomic
  kind 4 string !
  listKind 5 string ~
  categories 6 []string ~ atomic
CustomResourceDefinitionCondition
  type 1 CustomResourceDefinitionConditionType !
  status 2 ConditionStatus !
  lastTransitionTime 3 Time ~
  reason 4 string ~
  message 5 string ~
  observedGeneration 6 int64 ~
CustomResourceDefinitionStatus
  conditions 1 []CustomResourceDefinitionCondition map(type)
  acceptedNames 2 CustomResourceDefinitionNames
  storedVersions 3 []string atomic
  observedGeneration 4 int64 ~
CustomResourceDefinition
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 CustomResourceDefinitionSpec !
  status 3 CustomResourceDefinitionStatus ~
CustomResourceDefinitionList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []CustomResourceDefinition !
CustomResourceValidation
  openAPIV3Schema 1 *JSONSchemaProps ~
CustomResourceSubresources
  status 1 *CustomResourceSubresourceStatus ~
  scale 2 *CustomResourceSubresourceScale ~
CustomResourceSubresourceScale
  specReplicasPath 1 string !
  statusReplicasPath 2 string !
  labelSelectorPath 3 *string ~
ConversionReview
  + TypeMeta
  request 1 *ConversionRequest ~
  response 2 *ConversionResponse ~
ConversionRequest
  uid 1 UID
  desiredAPIVersion 2 string
  objects 3 []RawExtension
ConversionResponse
  uid 1 UID
  convertedObjects 2 []RawExtension
  result 3 meta.v1.Status
JSONSchemaProps
  id 1 string ~
  $schema 2 JSONSchemaURL ~
  $ref 3 *string ~
  description 4 string ~
  type 5 string ~
  format 6 string ~
  title 7 string ~
  default 8 *JSON ~
  maximum 9 *float64 ~
  exclusiveMaximum 10 bool ~
  minimum 11 *float64 ~
  exclusiveMinimum 12 bool ~
  maxLength 13 *int64 ~
  minLength 14 *int64 ~
  pattern 15 string ~
  maxItems 16 *int64 ~
  minItems 17 *int64 ~
  uniqueItems 18 bool ~
  multipleOf 19 *float64 ~
  enum 20 []JSON ~ atomic
  maxProperties 21 *int64 ~
  minProperties 22 *int64 ~
  required 23 []string ~ atomic
  items 24 *JSONSchemaPropsOrArray ~
  allOf 25 []JSONSchemaProps ~ atomic
  oneOf 26 []JSONSchemaProps ~ atomic
  anyOf 27 []JSONSchemaProps ~ atomic
  not 28 *JSONSchemaProps ~
  properties 29 {string}JSONSchemaProps ~
  additionalProperties 30 *JSONSchemaPropsOrBool ~
  patternProperties 31 {string}JSONSchemaProps ~
  dependencies 32 JSONSchemaDependencies ~
  additionalItems 33 *JSONSchemaPropsOrBool ~
  definitions 34 JSONSchemaDefinitions ~
  externalDocs 35 *ExternalDocumentation ~
  example 36 *JSON ~
  nullable 37 bool ~
  x-kubernetes-preserve-unknown-fields 38 *bool ~
  x-kubernetes-embedded-resource 39 bool ~
  x-kubernetes-int-or-string 40 bool ~
  x-kubernetes-list-map-keys 41 []string ~ atomic
  x-kubernetes-list-type 42 *string ~
  x-kubernetes-map-type 43 *string ~
  x-kubernetes-validations 44 ValidationRules ~ map(rule) patch(merge:rule)
ValidationRule
  rule 1 string !
  message 2 string ~
  messageExpression 3 string ~
  reason 4 *FieldValueErrorReason ~ enum(FieldValueDuplicate|FieldValueForbidden|FieldValueInvalid|FieldValueRequired)
  fieldPath 5 string ~
  optionalOldSelf 6 *bool ~
JSON
JSONSchemaPropsOrArray
JSONSchemaPropsOrBool
JSONSchemaPropsOrStringArray
ExternalDocumentation
  description 1 string ~
  url 2 string ~
CustomResourceSubresourceStatus
`;
