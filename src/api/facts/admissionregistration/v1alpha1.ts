/** Facts of admissionregistration.v1alpha1: format in format.md beside this file. */
export const admissionregistrationV1alpha1 = `\
group admissionregistration.k8s.io
version v1alpha1
openapi io.k8s.api.admissionregistration.v1alpha1
proto k8s.io.api.admissionregistration.v1alpha1
= Rule admissionregistration.v1.Rule
= ScopeType admissionregistration.v1.ScopeType
= ParameterNotFoundActionType string
= FailurePolicyType string
= MatchPolicyType string
= ValidationAction string
= RuleWithOperations admissionregistration.v1.RuleWithOperations
= OperationType admissionregistration.v1.OperationType
= PatchType string
= ReinvocationPolicyType admissionregistration.v1.ReinvocationPolicyType
ValidatingAdmissionPolicy
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 ValidatingAdmissionPolicySpec ~
  status 3 ValidatingAdmissionPolicyStatus ~
ValidatingAdmissionPolicyStatus
  observedGeneration 1 int64 ~
  typeChecking 2 *TypeChecking ~
  conditions 3 []meta.v1.Condition ~
TypeChecking
  expressionWarnings 1 []ExpressionWarning ~
ExpressionWarning
  fieldRef 2 string
  warning 3 string
ValidatingAdmissionPolicyList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []ValidatingAdmissionPolicy
ValidatingAdmissionPolicySpec
  paramKind 1 *ParamKind ~
  matchConstraints 2 *MatchResources ~
  validations 3 []Validation ~
  failurePolicy 4 *FailurePolicyType ~
  auditAnnotations 5 []AuditAnnotation ~
  matchConditions 6 []MatchCondition ~
  variables 7 []Variable ~
ParamKind atomic
  apiVersion 1 string ~
  kind 2 string ~
Validation
  expression 1 string
  message 2 string ~
  reason 3 *meta.v1.StatusReason ~
  messageExpression 4 string ~
Variable
  name 1 string !
  expression 2 string !
AuditAnnotation
  key 1 string
  valueExpression 2 string
ValidatingAdmissionPolicyBinding
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 ValidatingAdmissionPolicyBindingSpec ~
ValidatingAdmissionPolicyBindingList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []ValidatingAdmissionPolicyBinding
ValidatingAdmissionPolicyBindingSpec
  policyName 1 string ~
  paramRef 2 *ParamRef ~
  matchResources 3 *MatchResources ~
  validationActions 4 []ValidationAction ~
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
  matchPolicy 7 *MatchPolicyType ~
NamedRuleWithOperations atomic
  resourceNames 1 []string ~ atomic
  + RuleWithOperations 2
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
  failurePolicy 5 *FailurePolicyType ~
  matchConditions 6 []MatchCondition ~ map(name) patch(merge:name)
  reinvocationPolicy 7 ReinvocationPolicyType ~
Mutation
  patchType 2 PatchType !
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
MatchCondition
  name 1 string !
  expression 2 string !
`;
