package normalize

import (
	"cmp"
	"encoding/hex"
	"math"
	"strings"

	"colonnade/domain/jsonvalue"
	"colonnade/domain/semconv"
	"colonnade/domain/trace"
	"colonnade/write/cost"
	"colonnade/write/otlp/wire"
	conventions "colonnade/write/semconv"
	"colonnade/write/semconv/convert"
)

// fitting is the work on one span, its memory reused for the next.
type fitting struct {
	f    *Normalizer
	meta Meta

	raw    wire.Span
	scope  wire.Scope
	tree   tree
	hasher hasher
	// canonicalizer makes documents of what stays as it was sent.
	canonicalizer jsonvalue.Canonicalizer
	overlay       conventions.Overlay
	flat          []wire.Attribute

	// The resource and scope of the span before, and what is wrong with them:
	// neighbours share theirs.
	resourceData, scopeData   string
	resource                  map[string]any
	library                   *trace.Scope
	resourceFault, scopeFault error

	span        *trace.Span
	unsupported map[string]any
	// translated is the span type that a convention gave.
	translated trace.SpanType
}

func (w *fitting) begin(f *Normalizer, meta Meta) { w.f, w.meta = f, meta }

// end lets go of the record's memory.
func (w *fitting) end() {
	w.raw.Reset()
	w.scope = wire.Scope{Attributes: w.scope.Attributes[:0]}
	clear(w.flat)
	w.tree.reset(0)
	clear(w.tree.name[:cap(w.tree.name)])
	w.overlay.Reset()
	w.resourceData, w.scopeData, w.resource, w.library = "", "", nil, nil
	w.resourceFault, w.scopeFault = nil, nil
	w.span, w.unsupported = nil, nil
	w.hasher.forget()
}

// fit makes span of the bytes of its message. An error is a reason to refuse it.
func (w *fitting) fit(span *trace.Span, resource, scope, data string) (err error) {
	defer func() {
		// A defect of ours must cost one span, not the partition that it is in.
		if p := recover(); p != nil {
			err = rejected("The span could not be fitted: %v.", p)
		}
	}()
	if err := w.raw.Decode(data); err != nil {
		return err
	}
	w.span, w.unsupported, w.translated = span, nil, 0
	if err := w.identify(); err != nil {
		return err
	}
	if err := w.times(); err != nil {
		return err
	}
	if err := w.origin(resource, scope); err != nil {
		return err
	}
	if err := w.attributes(len(data)); err != nil {
		return err
	}
	w.conform()
	return boundPaths(span.Attributes, len(data))
}

func (w *fitting) identify() error {
	s, raw := w.span, &w.raw
	switch {
	case len(raw.TraceID) != len(s.TraceID):
		return rejected("The trace_id has %d bytes instead of 16.", len(raw.TraceID))
	case len(raw.SpanID) != len(s.SpanID):
		return rejected("The span_id has %d bytes instead of 8.", len(raw.SpanID))
	case raw.ParentID != "" && len(raw.ParentID) != len(s.ParentID):
		return rejected("The parent_span_id has %d bytes instead of 8.", len(raw.ParentID))
	}
	copy(s.TraceID[:], raw.TraceID)
	copy(s.SpanID[:], raw.SpanID)
	copy(s.ParentID[:], raw.ParentID)
	s.Root = s.IsRoot()
	if s.TraceID.IsZero() || s.SpanID.IsZero() {
		return rejected("The trace_id or span_id is all zeros.")
	}
	if s.Name = raw.Name; s.Name == "" {
		// Some unique name is wanted; the id's digits make it the same in a replay.
		s.Name = s.SpanID.String()[:12]
	}
	s.StatusMessage = raw.StatusMessage
	if k := raw.Kind; 0 <= k && k <= math.MaxUint8 && trace.Kind(k).Valid() {
		s.Kind = trace.Kind(k)
	} else {
		w.park(int64(k), "kind")
	}
	if c := raw.StatusCode; 0 <= c && c <= math.MaxUint8 && trace.Status(c).Valid() {
		s.Status = trace.Status(c)
	} else {
		w.park(int64(c), "status_code")
	}
	s.CreatedAt, s.CreatedBy = w.meta.ReceivedAt, w.meta.User
	return nil
}

// times completes what is missing: one end stands for both, the time of
// receipt for none. Source: contract §1.2.
func (w *fitting) times() error {
	if max(w.raw.Start, w.raw.End) > math.MaxInt64 {
		return rejected("A time lies beyond the year 2262.")
	}
	start, end := int64(w.raw.Start), int64(w.raw.End) //nolint:gosec // both fit, as just seen
	switch {
	case start == 0 && end == 0:
		start = w.meta.ReceivedAt.UnixNano()
		end = start
	case start == 0:
		start = end
	case end == 0:
		end = start
	}
	w.span.Start, w.span.End = start, end
	return nil
}

// origin sets resource and scope. Source: contract §0 row 20.
func (w *fitting) origin(resource, scope string) error {
	if resource != w.resourceData {
		w.resourceData = resource
		w.resource, w.resourceFault = w.readResource(resource)
	}
	if scope != w.scopeData {
		w.scopeData = scope
		w.library, w.scopeFault = w.readScope(scope)
	}
	w.span.Resource, w.span.Scope = w.resource, w.library
	return cmp.Or(w.resourceFault, w.scopeFault)
}

func (w *fitting) readResource(data string) (resource map[string]any, err error) {
	if w.flat, err = wire.AppendResource(w.flat[:0], data); err != nil {
		return nil, err
	}
	return w.nest(w.flat, len(data))
}

func (w *fitting) readScope(data string) (*trace.Scope, error) {
	if err := w.scope.Decode(data); err != nil {
		return nil, err
	}
	attributes, err := w.nest(w.scope.Attributes, len(data))
	if err != nil || w.scope.Name == "" && w.scope.Version == "" && attributes == nil {
		return nil, err
	}
	return &trace.Scope{Name: w.scope.Name, Version: w.scope.Version, Attributes: attributes}, nil
}

// nest un-flattens attributes that have no ag tree to park in: one that finds
// its place taken stays beside the tree under its dotted name.
func (w *fitting) nest(attributes []wire.Attribute, size int) (map[string]any, error) {
	if len(attributes) == 0 {
		return nil, nil //nolint:nilnil // none is what there is
	}
	w.tree.reset(size)
	for _, a := range attributes {
		w.tree.put(a.Key, a.Value, fromClient)
	}
	if w.tree.crowded {
		return nil, errCrowded()
	}
	object := w.tree.object(0)
	for _, a := range w.tree.refused {
		settle(object, a.Key, a.Value)
	}
	return object, nil
}

// errCrowded refuses what would grow without bound where it was kept.
func errCrowded() error {
	return rejected("Objects among the attributes repeat each other's members below names too long to keep them all.")
}

// attributes builds the tree of what the client sent and what conventions
// make of it; what finds no place is parked. size is that of the span's message.
func (w *fitting) attributes(size int) error {
	w.tree.reset(size)
	w.overlay.Reset()
	fitted := false
	for i := range w.raw.Attributes {
		a := &w.raw.Attributes[i]
		if a.Key == semconv.Root {
			if _, ok := a.Value.(map[string]any); !ok {
				w.park(a.Value, "_invalid")
				continue
			}
			fitted = true
		}
		if s, ok := a.Value.(string); ok && strings.HasPrefix(a.Key, semconv.Root+".") {
			a.Value = w.unwrap(a.Key, s)
		}
		w.put(a.Key, a.Value, fromClient)
	}
	if w.tree.crowded {
		return errCrowded()
	}
	refused := len(w.tree.refused)
	if !fitted {
		w.translate()
	}
	// A translation that finds the client's own value in its place gives way; its original is in the tree.
	w.tree.refused = w.tree.refused[:refused]
	w.span.Attributes = w.tree.object(0)
	for _, a := range w.tree.refused {
		w.park(a.Value, a.Key)
	}
	return nil
}

// put places an attribute, one of ours under its canonical name.
func (w *fitting) put(key string, value any, source uint8) {
	var path [5]string
	if rest, ok := strings.CutPrefix(key, semconv.Root+"."); ok && canonical(rest, &path) {
		n := len(path)
		if path[n-1] == "" {
			n--
		}
		w.tree.putPath(path[:n], key, value, source)
		return
	}
	w.tree.put(key, value, source)
}

// canonical gives the path of an ag attribute that clients call differently:
// refs.<key>.<member>, metrics.unit.<name>.<member> and metrics.acc.<name>.<member>.
// Source: contract §1.4. The same names in objects are joinRefs' and rename's.
func canonical(rest string, path *[5]string) bool {
	if refs, ok := strings.CutPrefix(rest, semconv.Refs+"."); ok {
		key, member, ok := strings.Cut(refs, ".")
		if !ok || member == "" || strings.Contains(member, ".") {
			return false
		}
		*path = [5]string{semconv.Root, semconv.References, semconv.LegacyReference(key, member), member}
		return true
	}
	metric, ok := strings.CutPrefix(rest, semconv.Metrics+".")
	if !ok {
		return false
	}
	to := semconv.Incremental
	metric, ok = strings.CutPrefix(metric, "unit.")
	if !ok {
		to = semconv.Cumulative
		if metric, ok = strings.CutPrefix(metric, "acc."); !ok {
			return false
		}
	}
	name, member, _ := strings.Cut(metric, ".")
	if name != semconv.Tokens && name != semconv.Costs || member == "" || strings.Contains(member, ".") {
		return false
	}
	*path = [5]string{semconv.Root, semconv.Metrics, name, to, member}
	return true
}

// conform applies the schema to ag and derives the rest of the span from it.
func (w *fitting) conform() {
	s := w.span
	w.events()
	w.links()
	ag, ok := s.Attributes[semconv.Root].(map[string]any)
	if !ok {
		if invalid, there := s.Attributes[semconv.Root]; there {
			w.park(invalid, "_invalid")
		}
		ag = make(map[string]any, 4)
		s.Attributes[semconv.Root] = ag
	}
	w.fitMembers(ag)
	s.Hashes = w.hasher.hashes(s.References, s.Links)
	metrics, _ := ag[semconv.Metrics].(map[string]any)
	cost.Incremental(s, ag, metrics, w.f.prices, cost.Sender{
		Reported: w.overlay.Reported().Kinds, DisjointUsage: w.overlay.DisjointUsage(), Failure: w.overlay.Failed(),
	})
	describeFailure(w, ag)
	w.promote(ag)
	if len(w.unsupported) > 0 {
		ag[semconv.Unsupported] = w.unsupported
		w.f.metrics.parked.Inc()
	}
}

func (w *fitting) events() {
	if len(w.raw.Events) == 0 {
		return
	}
	events := make([]trace.Event, len(w.raw.Events))
	for i, e := range w.raw.Events {
		at := int64(e.Time) //nolint:gosec // checked right below
		if e.Time == 0 || e.Time > math.MaxInt64 {
			at = w.span.Start
		}
		events[i] = trace.Event{Name: e.Name, Time: at, Attributes: e.Attributes}
	}
	w.span.Events = events
}

func (w *fitting) links() {
	if len(w.raw.Links) == 0 {
		return
	}
	links := make([]trace.Link, 0, len(w.raw.Links))
	var bad []any
	for _, l := range w.raw.Links {
		link := trace.Link{Attributes: l.Attributes}
		if len(l.TraceID) != len(link.TraceID) || len(l.SpanID) != len(link.SpanID) {
			parked := map[string]any{"trace_id": hex.EncodeToString([]byte(l.TraceID)), "span_id": hex.EncodeToString([]byte(l.SpanID))}
			if l.Attributes != nil {
				parked["attributes"] = l.Attributes
			}
			bad = append(bad, parked)
			continue
		}
		copy(link.TraceID[:], l.TraceID)
		copy(link.SpanID[:], l.SpanID)
		links = append(links, link)
	}
	if len(links) > 0 {
		w.span.Links = links
	}
	if bad != nil {
		w.park(bad, "links")
	}
}

// promote copies the identifiers of a root span to where they are searched.
// Source: contract §1.4.
func (w *fitting) promote(ag map[string]any) {
	if !w.span.IsRoot() {
		return
	}
	w.span.SessionID = identifier(ag, semconv.Session)
	w.span.UserID = identifier(ag, semconv.User)
	w.span.AgentID = identifier(w.unsupported, semconv.Agent)
}

// identifier reads ag.<member>.id.
func identifier(ag map[string]any, member string) string {
	object, _ := ag[member].(map[string]any)
	id, _ := object[semconv.ID].(string)
	return id
}

// The attributes that normalization does not look into. Their JSON objects and arrays
// stay jsonvalue.Raw: histories of messages are most of the bytes that clients send.
const (
	inputsKey    = semconv.Root + "." + semconv.Data + "." + semconv.Inputs
	outputsKey   = semconv.Root + "." + semconv.Data + "." + semconv.Outputs
	internalsKey = semconv.Root + "." + semconv.Data + "." + semconv.Internals
)

// unwrap parses the literals in which clients send objects and arrays, also nested ones, so
// that no stored value parses as a literal again. Text that is not JSON stays as sent, and so
// does a literal nested more than 16 times, because each level is parsed to its end.
func (w *fitting) unwrap(key, s string) any {
	const most = 16
	sent := s
	for range most {
		if s == semconv.NonePrefix {
			return nil
		}
		text, ok := strings.CutPrefix(s, semconv.JSONPrefix)
		if !ok {
			return s
		}
		if (key == inputsKey || key == outputsKey || key == internalsKey) && compound(text) != 0 {
			if d, ok := w.canonicalizer.Canonicalize(text, convert.MaxJSONDepth); ok {
				return d
			}
			return s
		}
		value, ok := convert.ParseJSON(text)
		if !ok {
			return s
		}
		if s, ok = value.(string); !ok {
			return value
		}
	}
	return sent
}
