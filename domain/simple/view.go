package simple

import "colonnade/domain"

// Views are the replies of a face as the API page shows them: one record, a
// list, and the link of a record that is gone.
func Views(f Face) (one, list, link any) {
	switch f {
	case Annotation:
		return annotationReply{}, annotationsReply{}, annotationLinkReply{}
	case Invocation:
		return invocationReply{}, invocationsReply{}, invocationLinkReply{}
	default:
		return traceReply{}, tracesReply{}, linkReply{}
	}
}

type (
	traceReply struct {
		Count int         `json:"count"`
		Trace *RecordView `json:"trace,omitempty"`
	}
	tracesReply struct {
		Count     int            `json:"count"`
		Traces    []RecordView   `json:"traces"`
		Windowing *domain.Window `json:"windowing,omitempty"`
	}
	linkReply struct {
		Count int       `json:"count"`
		Link  *LinkView `json:"link,omitempty"`
	}
	annotationReply struct {
		Count      int         `json:"count"`
		Annotation *RecordView `json:"annotation,omitempty"`
	}
	annotationsReply struct {
		Count       int            `json:"count"`
		Annotations []RecordView   `json:"annotations"`
		Windowing   *domain.Window `json:"windowing,omitempty"`
	}
	annotationLinkReply struct {
		Count          int       `json:"count"`
		AnnotationLink *LinkView `json:"annotation_link,omitempty"`
	}
	invocationReply struct {
		Count      int         `json:"count"`
		Invocation *RecordView `json:"invocation,omitempty"`
	}
	invocationsReply struct {
		Count       int            `json:"count"`
		Invocations []RecordView   `json:"invocations"`
		Windowing   *domain.Window `json:"windowing,omitempty"`
	}
	invocationLinkReply struct {
		Count          int       `json:"count"`
		InvocationLink *LinkView `json:"invocation_link,omitempty"`
	}
)
