// Package activity holds the endpoints that list the sessions and users of a project. The
// reads themselves are in read/activity.
package activity

import (
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/read/activity"
	"colonnade/read/api"
	"colonnade/read/order"
)

// activityRequest is the body of the session and user endpoints; it is required.
type activityRequest struct {
	// Realtime orders by the last activity, an order that shifts; else it is the first.
	Realtime  bool           `json:"realtime"`
	Windowing *api.Windowing `json:"windowing"`
	// Totals asks for what each id adds up to within the window.
	Totals bool `json:"totals"`
	// OrderBy orders by one of the totals instead of the activity, within the window.
	OrderBy orderBy `json:"order_by"`
}

// orderBy is an activity.OrderBy that UnmarshalText has checked.
type orderBy activity.OrderBy

// UnmarshalText parses the word on the wire.
func (o *orderBy) UnmarshalText(b []byte) error {
	known := make([]orderBy, 0, len(activity.Orders()))
	for _, by := range activity.Orders() {
		known = append(known, orderBy(by))
	}
	return api.OneOf(o, string(b), known...)
}

// The replies. Windowing asks for the next page: it carries the time that this
// one ended at and the cursor, next. The time alone leads on as well, where ids
// of one microsecond may come twice. Source: contract §3.7, §0 row 4.
type (
	sessionsReply struct {
		Count      int      `json:"count"`
		SessionIDs []string `json:"session_ids"`
		// Totals are in the order of the ids, for a request that asks for them.
		Totals    []activity.Totals `json:"totals,omitempty"`
		Windowing *domain.Window    `json:"windowing,omitempty"`
	}
	usersReply struct {
		Count     int               `json:"count"`
		UserIDs   []string          `json:"user_ids"`
		Totals    []activity.Totals `json:"totals,omitempty"`
		Windowing *domain.Window    `json:"windowing,omitempty"`
	}
)

// Actors lists sessions and users; read/activity implements it.
type Actors interface {
	List(ctx context.Context, project domain.ProjectID, actor order.Actor, last bool, w domain.Window) (activity.Page, error)
	// Totals returns what ids add up to, in their order.
	Totals(ctx context.Context, project domain.ProjectID, actor order.Actor, ids []string, w domain.Window) ([]activity.Totals, error)
	// Ranked returns a page in the order of a number, and the cursor of the next one.
	Ranked(ctx context.Context, project domain.ProjectID, actor order.Actor, by activity.OrderBy, w domain.Window) ([]activity.Totals, uuid.UUID, error)
}

// Deps are what the endpoints need.
type Deps struct {
	Actors Actors
	// Window checks a window, which stands at a location of the request.
	Window func(w *api.Windowing, at []any) (domain.Window, error)
	// Caller returns the project of a request once the write is visible whose token the
	// request carries.
	Caller func(c *gin.Context) (context.Context, domain.ProjectID, error)
}

// Mount mounts the endpoints of contract §3.7, the deprecated ones among them.
func Mount(r api.Router, a Deps) {
	op := domain.Operation{Method: http.MethodPost, Permission: domain.ViewSpans, Preview: true, Tag: "spans", Request: activityRequest{}}
	both := func(path, oldPath, summary string, response any, h func(*gin.Context) error) {
		op.Path, op.Summary, op.Response = path, summary, response
		r.Handle(op, h)
		old := op
		old.Path, old.Summary, old.Deprecated, old.Tag = oldPath, summary+" Use "+path+".", true, "tracing"
		r.Handle(old, h)
	}
	both("/spans/sessions/query", "/tracing/sessions/query", "Session ids in the order of their activity.", sessionsReply{},
		a.list(order.Session, func(ids []string, t []activity.Totals, w *domain.Window) any {
			return sessionsReply{len(ids), ids, t, w}
		}))
	both("/spans/users/query", "/tracing/users/query", "User ids in the order of their activity.", usersReply{},
		a.list(order.User, func(ids []string, t []activity.Totals, w *domain.Window) any { return usersReply{len(ids), ids, t, w} }))
}

func (a Deps) list(actor order.Actor, reply func([]string, []activity.Totals, *domain.Window) any) func(*gin.Context) error {
	return func(c *gin.Context) error {
		var req activityRequest
		if err := api.DecodeBody(c, &req, false); err != nil {
			return err
		}
		w := req.Windowing
		if w == nil {
			w = &api.Windowing{}
		}
		if w.Interval != nil || w.Rate != nil {
			return domain.E(domain.Rejected, "This list takes oldest, newest, next, limit and order of windowing. Its pages are asked for with the windowing of the page before.")
		}
		window, err := a.Window(w, []any{"body", "windowing"})
		if err != nil {
			return err
		}
		asked := summed(window, req.Realtime)
		ctx, project, err := a.Caller(c)
		if err != nil {
			return err
		}
		if req.OrderBy != "" {
			ids, totals, next, err := a.ranked(ctx, project, actor, &req, window)
			if err != nil {
				return err
			}
			c.JSON(http.StatusOK, reply(ids, totals, next))
			return nil
		}
		page, err := a.Actors.List(ctx, project, actor, req.Realtime, window)
		if err != nil {
			return err
		}
		var next *domain.Window
		if page.Next != uuid.Nil {
			next = &window
			next.Next = page.Next
			if window.Order == domain.Ascending {
				next.Oldest = page.Until
			} else {
				next.Newest = page.Until
			}
		}
		var totals []activity.Totals
		if req.Totals {
			if totals, err = a.Actors.Totals(ctx, project, actor, page.IDs, asked); err != nil {
				return err
			}
		}
		c.JSON(http.StatusOK, reply(page.IDs, totals, next))
		return nil
	}
}

// summed returns the window within which the ids of a page are summed up. The window of a page
// behind the first begins where the page before it ended, which bounds the activity by which
// the list is ordered and not the traces that are summed.
func summed(w domain.Window, realtime bool) domain.Window {
	out := domain.Window{Oldest: w.Oldest, Newest: w.Newest}
	switch {
	case w.Next == uuid.Nil:
	case w.Order == domain.Ascending:
		out.Oldest = time.Time{}
	case !realtime: // what was active last before a time has no later spans
		out.Newest = time.Time{}
	}
	return out
}

// ranked returns a page in the order of one of the totals.
func (a Deps) ranked(ctx context.Context, project domain.ProjectID, actor order.Actor, req *activityRequest, window domain.Window) (ids []string, totals []activity.Totals, next *domain.Window, err error) {
	found, cursor, err := a.Actors.Ranked(ctx, project, actor, activity.OrderBy(req.OrderBy), window)
	if err != nil {
		return nil, nil, nil, err
	}
	ids = make([]string, len(found))
	for i := range found {
		ids[i] = found[i].ID
	}
	if req.Totals {
		totals = found
	}
	if cursor != uuid.Nil {
		window.Next = cursor
		next = &window
	}
	return ids, totals, next, nil
}
