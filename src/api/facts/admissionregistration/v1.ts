/** Facts of admissionregistration.v1: format in format.md beside this file. */
export const admissionregistrationV1 = `\
group admissionregistration.k8s.io
version v1
openapi io.k8s.api.admissionregistration.v1
proto k8s.io.api.admissionregistration.v1
= ScopeType string
= FailurePolicyType string
= ParameterNotFoundActionType string
= MatchPolicyType string
= SideEffectClass string
= ValidatingAdmissionPolicyConditionType string
= ValidationAction string
= PatchType string
= ReinvocationPolicyType string
= OperationType string
Rule
  apiGroups 1 []string ~ atomic
  apiVersions 2 []string ~ atomic
  resources 3 []string ~ atomic
  scope 4 *ScopeType ~ enum(*|Cluster|Namespaced)
ValidatingAdmissionPolicy
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 ValidatingAdmissionPolicySpec ~
  status 3 ValidatingAdmissionPolicyStatus ~
ValidatingAdmissionPolicyStatus
  observedGeneration 1 int64 ~
  typeChecking 2 *TypeChecking ~
  conditions 3 []meta.v1.Condition ~ map(type)
TypeChecking
  expressionWarnings 1 []ExpressionWarning ~ atomic
ExpressionWarning
  fieldRef 2 string !
  warning 3 string !
ValidatingAdmissionPolicyList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []ValidatingAdmissionPolicy !
ValidatingAdmissionPolicySpec
  paramKind 1 *ParamKind ~
  matchConstraints 2 *MatchResources ~
  validations 3 []Validation ~ atomic
  failurePolicy 4 *FailurePolicyType ~ enum(Fail|Ignore)
  auditAnnotations 5 []AuditAnnotation ~ atomic
  matchConditions 6 []MatchCondition ~ map(name) patch(merge:name)
  variables 7 []Variable ~ map(name) patch(merge:name)
ParamKind atomic
  apiVersion 1 string ~
  kind 2 string ~
Validation
  expression 1 string !
  message 2 string ~
  reason 3 *meta.v1.StatusReason ~
  messageExpression 4 string ~
Variable atomic
  name 1 string !
  expression 2 string !
AuditAnnotation
  key 1 string !
  valueExpression 2 string !
ValidatingAdmissionPolicyBinding
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 ValidatingAdmissionPolicyBindingSpec ~ !
ValidatingAdmissionPolicyBindingList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []ValidatingAdmissionPolicyBinding !
ValidatingAdmissionPolicyBindingSpec
  policyName 1 string ~ !
  paramRef 2 *ParamRef ~
  matchResources 3 *MatchResources ~
  validationActions 4 []ValidationAction ~ ! set enum(Audit|Deny|Warn)
ParamRef atomic
  name 1 string ~
  namespace 2 string ~
  selector 3 *meta.v1.LabelSelector ~
  parameterNotFoundAction 4 *ParameterNotFoundActionType ~
MatchResources atomic
  namespaceSelector 1 *meta.v1.LabelSelector ~
  objectSelector 2 *meta.v1.LabelSelector ~
  resourceRules 3 []NamedRuleWithOperations ~ atomic
  excludeResourceRules 4 []NamedRuleWithOperations ~ atomic
  matchPolicy 7 *MatchPolicyType ~ enum(Equivalent|Exact)
NamedRuleWithOperations atomic
  resourceNames 1 []string ~ atomic
  + RuleWithOperations 2
ValidatingWebhookConfiguration
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  webhooks 2 []ValidatingWebhook ~ map(name) patch(merge:name)
ValidatingWebhookConfigurationList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []ValidatingWebhookConfiguration !
MutatingWebhookConfiguration
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  webhooks 2 []MutatingWebhook ~ map(name) patch(merge:name)
MutatingWebhookConfigurationList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []MutatingWebhookConfiguration !
ValidatingWebhook
  name 1 string !
  clientConfig 2 WebhookClientConfig !
  rules 3 []RuleWithOperations ~ atomic
  failurePolicy 4 *FailurePolicyType ~ enum(Fail|Ignore)
  matchPolicy 9 *MatchPolicyType ~ enum(Equivalent|Exact)
  namespaceSelector 5 *meta.v1.LabelSelector ~
  objectSelector 10 *meta.v1.LabelSelector ~
  sideEffects 6 *SideEffectClass ! enum(None|NoneOnDryRun|Some|Unknown)
  timeoutSeconds 7 *int32 ~
  admissionReviewVersions 8 []string ! atomic
  matchConditions 11 []MatchCondition ~ map(name) patch(merge:name)
MutatingWebhook
  name 1 string !
  clientConfig 2 WebhookClientConfig !
  rules 3 []RuleWithOperations ~ atomic
  failurePolicy 4 *FailurePolicyType ~ enum(Fail|Ignore)
  matchPolicy 9 *MatchPolicyType ~ enum(Equivalent|Exact)
  namespaceSelector 5 *meta.v1.LabelSelector ~
  objectSelector 11 *meta.v1.LabelSelector ~
  sideEffects 6 *SideEffectClass ! enum(None|NoneOnDryRun|Some|Unknown)
  timeoutSeconds 7 *int32 ~
  admissionReviewVersions 8 []string ! atomic
  reinvocationPolicy 10 *ReinvocationPolicyType ~ enum(IfNeeded|Never)
  matchConditions 12 []MatchCondition ~ map(name) patch(merge:name)
MutatingAdmissionPolicy
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 MutatingAdmissionPolicySpec ~
MutatingAdmissionPolicyList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []MutatingAdmissionPolicy !
MutatingAdmissionPolicySpec
  paramKind 1 *ParamKind ~
  matchConstraints 2 *MatchResources ~
  variables 3 []Variable ~ atomic
  mutations 4 []Mutation ~ atomic
  failurePolicy 5 *FailurePolicyType ~ enum(Fail|Ignore)
  matchConditions 6 []MatchCondition ~ map(name) patch(merge:name)
  reinvocationPolicy 7 ReinvocationPolicyType ~ enum(IfNeeded|Never)
Mutation
  patchType 2 PatchType ! enum(ApplyConfiguration|JSONPatch)
  applyConfiguration 3 *ApplyConfiguration ~
  jsonPatch 4 *JSONPatch ~
ApplyConfiguration
  expression 1 string ~
JSONPatch
  expression 1 string ~
MutatingAdmissionPolicyBinding
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 MutatingAdmissionPolicyBindingSpec ~
MutatingAdmissionPolicyBindingList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []MutatingAdmissionPolicyBinding !
MutatingAdmissionPolicyBindingSpec
  policyName 1 string ~
  paramRef 2 *ParamRef ~
  matchResources 3 *MatchResources ~
RuleWithOperations
  operations 1 []OperationType ~ atomic enum(*|CONNECT|CREATE|DELETE|UPDATE)
  + Rule 2
WebhookClientConfig
  url 3 *string ~
  service 1 *ServiceReference ~
  caBundle 2 bytes ~
ServiceReference
  namespace 1 string !
  name 2 string !
  path 3 *string ~
  port 4 *int32 ~
MatchCondition
  name 1 string !
  expression 2 string !
`;
