/** Facts of events.v1: format in format.md beside this file. */
export const eventsV1 = `\
group events.k8s.io
version v1
openapi io.k8s.api.events.v1
proto k8s.io.api.events.v1
Event
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta
  eventTime 2 MicroTime !
  series 3 *EventSeries ~
  reportingController 4 string ~
  reportingInstance 5 string ~
  action 6 string ~
  reason 7 string ~
  regarding 8 core.v1.ObjectReference ~
  related 9 *core.v1.ObjectReference ~
  note 10 string ~
  type 11 string ~
  deprecatedSource 12 core.v1.EventSource ~
  deprecatedFirstTimestamp 13 Time ~
  deprecatedLastTimestamp 14 Time ~
  deprecatedCount 15 int32 ~
EventSeries
  count 1 int32 !
  lastObservedTime 2 MicroTime !
EventList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []Event !
`;
