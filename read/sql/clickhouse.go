package sql

import (
	"cmp"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/read/api"
	"colonnade/read/sql/guard"
)

// ClickHousePath is where the API serves ClickHouse's HTTP interface. A listener for tools
// serves the paths below it at its root.
const ClickHousePath = "/sql/clickhouse"

// mountClickHouse mounts ClickHouse's HTTP interface.
func (r *Runner) mountClickHouse(router api.Router) {
	ok := func(c *gin.Context) error {
		c.String(http.StatusOK, "Ok.\n")
		return nil
	}
	for path, summary := range map[string]string{"/ping": "Whether the interface answers.", "/replicas_status": "Whether the interface answers, as for a replica."} {
		router.Handle(domain.Operation{
			Method: http.MethodGet, Path: ClickHousePath + path, Permission: domain.Public, Tag: "sql", ClickHouse: true, Summary: summary, Produces: []string{"text/plain"},
		}, ok)
	}
	parameter := func(name, doc string) domain.Parameter {
		return domain.Parameter{Name: name, Type: "string", Doc: doc}
	}
	op := domain.Operation{
		Path: ClickHousePath + "/", Permission: domain.QuerySQL, Tag: "sql", ClickHouse: true, Timeout: r.cfg.Timeout + replyTime, Limit: 1 << 20,
		Produces: []string{"application/octet-stream"},
		Query: []domain.Parameter{
			parameter("query", "The statement, or its beginning; the body follows it. Without one the reply is Ok. A parameter param_name is the value of {name:Type} in it."),
			parameter("default_format", "The format where the statement names none; TabSeparated without either."),
			parameter("query_id", "The id of the statement."),
			parameter("password", "The API key, where neither Authorization nor X-ClickHouse-Key has it. The user is anything."),
			parameter("database", "Ignored: the key fixes the database."),
		},
	}
	op.Method, op.Summary = http.MethodGet, "Run a statement of a tool as ClickHouse's HTTP interface does."
	router.Handle(op, r.clickHouse)
	op.Method, op.Consumes = http.MethodPost, []string{"text/plain"}
	router.Handle(op, r.clickHouse)
}

// clickHouse runs the statement of a tool.
func (r *Runner) clickHouse(c *gin.Context) error {
	values, text, err := toolRequest(c.Request)
	if err != nil {
		return err
	}
	if c.Request.Method == http.MethodGet && text == "" {
		c.String(http.StatusOK, "Ok.\n")
		return nil
	}
	q := r.of(c.Request.Context(), text)
	q.Tool, q.Parameters = &Tool{values}, map[string]string{}
	for name := range values {
		if parameter, ok := strings.CutPrefix(name, "param_"); ok {
			q.Parameters[parameter] = values.Get(name)
		}
	}
	q.Format = cmp.Or(values.Get("default_format"), c.GetHeader("X-ClickHouse-Format"), "TabSeparated")
	if !regexp.MustCompile(`^[A-Za-z0-9]{1,60}$`).MatchString(q.Format) {
		return domain.E(domain.Rejected, "default_format is no name of a format.")
	}
	if q.ID = values.Get("query_id"); !regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,100}$`).MatchString(q.ID) {
		q.ID = uuid.NewString()
	}
	c.Header("X-ClickHouse-Query-Id", q.ID)
	c.Header("X-ClickHouse-Server-Display-Name", "colonnade")
	return r.Run(c.Request.Context(), q, func(reply Reply) error {
		c.Header("X-ClickHouse-Format", reply.Format)
		for _, name := range []string{"Content-Type", "X-ClickHouse-Summary", "X-ClickHouse-Timezone", "X-ClickHouse-Exception-Tag"} {
			if value := reply.Header.Get(name); value != "" {
				c.Header(name, value)
			}
		}
		c.Status(http.StatusOK)
		_, err := io.Copy(c.Writer, reply.Body)
		return err
	})
}

// toolRequest returns the parameters of a request and its statement: the parameter query,
// then the body. A form has both as its fields.
func toolRequest(r *http.Request) (url.Values, string, error) {
	values := r.URL.Query()
	if values.Get("decompress") == "1" || r.Header.Get("Content-Encoding") != "" {
		return nil, "", domain.E(domain.Rejected, "A statement is sent without compression.")
	}
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err == nil && kind == "multipart/form-data" {
		if err := addForm(values, multipart.NewReader(r.Body, params["boundary"])); err != nil {
			return nil, "", err
		}
		return values, values.Get("query"), nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, "", err
	}
	text := values.Get("query")
	if text != "" && len(body) > 0 {
		text += "\n"
	}
	return values, text + string(body), nil
}

// addForm adds the fields of a form. Files would be tables of the client's own.
func addForm(values url.Values, form *multipart.Reader) error {
	for {
		part, err := form.NextPart()
		if err == io.EOF { //nolint:errorlint // NextPart returns it as it is
			return nil
		}
		if err != nil {
			return domain.Wrap(domain.Rejected, err, "The form is malformed.")
		}
		if part.FileName() != "" {
			return domain.E(domain.Forbidden, "External tables are not allowed here: use parameters, or arrays in the statement.")
		}
		text, err := io.ReadAll(io.LimitReader(part, guard.MaxBytes+1))
		if err != nil {
			return domain.Wrap(domain.Rejected, err, "The form is malformed.")
		}
		values.Set(part.FormName(), string(text))
	}
}
