package compile

import (
	"strconv"

	"colonnade/domain"
	"colonnade/migrations/schema"
)

// Actor is whose activity is asked for.
type Actor uint8

// The actors. Source: contract §3.7.
const (
	Session Actor = iota + 1
	User
)

func (a Actor) column() string {
	if a == User {
		return "user_id"
	}
	return "session_id"
}

// Activity asks for the ids of sessions or users in the order of their first
// or last span's start, both ends of the range inclusive.
type Activity struct {
	Project domain.ProjectID
	Actor   Actor
	// Last orders by the last span; else by the first.
	Last bool
	// Low and High bound that time, in Unix microseconds.
	Low, High int64
	Order     domain.Order
	Limit     int
}

// Page is the statement. Its rows are the id String and the time Int64 in Unix
// microseconds; equal times are in the order of the ids.
func (a Activity) Page() Statement {
	w := new(writer)
	column, chosen, direction := a.Actor.column(), "min", " DESC"
	// A first span is first whatever follows, a last one whatever came before:
	// one end of the range bounds the rows as well.
	r := Starts(minMicros, a.High)
	if a.Last {
		chosen, r = "max", Starts(a.Low, maxMicros)
	}
	if a.Order == domain.Ascending {
		direction = ""
	}
	w.put("SELECT id, toUnixTimestamp64Micro(active) FROM (SELECT "+column+" AS id, "+chosen+"(start_time) AS active FROM "+schema.Spans+" FINAL WHERE project_id = ? AND "+types, a.Project.String())
	r.and(w)
	w.put(" AND " + column + " != '' GROUP BY id)")
	if n := timeRange("active", a.Low, a.High); n != constant(true) {
		w.put(" WHERE ")
		n.write(w, nil)
	}
	w.put(" ORDER BY active" + direction + ", id" + direction + " LIMIT " + strconv.Itoa(a.Limit))
	return w.statement()
}
