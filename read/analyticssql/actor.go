package analyticssql

import (
	"colonnade/domain"
	"colonnade/migrations/schema"
	"colonnade/read/order"
	"colonnade/read/sqltext"
)

// Actors chooses spans of sessions or users.
type Actors struct {
	Project domain.ProjectID
	Actor   order.Actor
	IDs     []string
	Range   order.Range
}

func (a Actors) where(w *sqltext.Writer) {
	w.Put(" WHERE project_id = ? AND "+sqltext.AnyTraceType+" AND ", a.Project.String())
	sqltext.Among(actorColumn(a.Actor), a.IDs).Write(w, nil)
	w.AndStarts(a.Range)
}

// Times returns the statement of the starts of the first and last span of each id. Its rows
// are the id, and both times Int64 in Unix microseconds.
func (a Actors) Times() sqltext.Statement {
	w := new(sqltext.Writer)
	w.Put("SELECT " + actorColumn(a.Actor) + " AS id, toUnixTimestamp64Micro(min(start_time)), toUnixTimestamp64Micro(max(start_time)) FROM " + schema.Spans + " FINAL")
	a.where(w)
	w.Put(" GROUP BY id")
	return w.Statement()
}

// dayMicros is how far from the root of a trace its spans are looked for.
const dayMicros = 24 * 3600 * 1_000_000

// Models returns the statement of the models that answered in the traces whose roots have an
// id, among spans that start within a day of the range. Its rows are the id and the models,
// Array(String), in their order.
func (a Actors) Models() sqltext.Statement {
	w := new(sqltext.Writer)
	roots := func(columns string) {
		w.Put("SELECT " + columns + " FROM " + schema.Spans + " FINAL")
		a.where(w)
		w.Put(" AND ")
		w.Put("is_root")
	}
	w.Put("SELECT id, arraySort(groupUniqArray(model_name)) FROM (SELECT trace_id, toString(model) AS model_name FROM "+schema.Spans+" FINAL WHERE project_id = ? AND "+sqltext.AnyTraceType+" AND model != ''", a.Project.String())
	w.AndStarts(order.Starts(a.Range.Low.Start-dayMicros, a.Range.High.Start+dayMicros))
	w.Put(" AND trace_id IN (")
	roots("trace_id")
	w.Put(")) AS answers INNER JOIN (")
	roots("trace_id, " + actorColumn(a.Actor) + " AS id")
	w.Put(") AS roots USING trace_id GROUP BY id")
	return w.Statement()
}
