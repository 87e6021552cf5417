package spans

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/read/api"
	"colonnade/read/order"
)

// activityRequest is the body of the session and user endpoints; it is required.
type activityRequest struct {
	// Realtime orders by the last activity, an order that shifts; else it is the first.
	Realtime  bool           `json:"realtime"`
	Windowing *api.Windowing `json:"windowing"`
}

// The replies. Windowing asks for the next page: it carries the time that this
// one ended at and the cursor, next. The time alone leads on as well, where ids
// of one microsecond may come twice. Source: contract §3.7, §0 row 4.
type (
	sessionsReply struct {
		Count      int            `json:"count"`
		SessionIDs []string       `json:"session_ids"`
		Windowing  *domain.Window `json:"windowing,omitempty"`
	}
	usersReply struct {
		Count     int            `json:"count"`
		UserIDs   []string       `json:"user_ids"`
		Windowing *domain.Window `json:"windowing,omitempty"`
	}
)

func (a *Analytics) mountActivity(r api.Router) {
	op := domain.Operation{Method: http.MethodPost, Permission: domain.ViewSpans, Preview: true, Tag: "spans", Request: activityRequest{}}
	both := func(path, oldPath, summary string, response any, h func(*gin.Context) error) {
		op.Path, op.Summary, op.Response = path, summary, response
		r.Handle(op, h)
		old := op
		old.Path, old.Summary, old.Deprecated, old.Tag = oldPath, summary+" Use "+path+".", true, "tracing"
		r.Handle(old, h)
	}
	both("/spans/sessions/query", "/tracing/sessions/query", "Session ids in the order of their activity.", sessionsReply{},
		a.activity(order.Session, func(ids []string, w *domain.Window) any { return sessionsReply{len(ids), ids, w} }))
	both("/spans/users/query", "/tracing/users/query", "User ids in the order of their activity.", usersReply{},
		a.activity(order.User, func(ids []string, w *domain.Window) any { return usersReply{len(ids), ids, w} }))
}

func (a *Analytics) activity(actor order.Actor, reply func([]string, *domain.Window) any) func(*gin.Context) error {
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
		window, err := a.spans.window(w, []any{"body", "windowing"})
		if err != nil {
			return err
		}
		ctx, project, err := a.spans.Caller(c)
		if err != nil {
			return err
		}
		page, err := a.actors.List(ctx, project, actor, req.Realtime, window)
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
		c.JSON(http.StatusOK, reply(page.IDs, next))
		return nil
	}
}
