package entities

import (
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/entity/entityschema"
	"colonnade/domain/request"
	"colonnade/domain/testset"
	"colonnade/write/api"
	"colonnade/write/registry/entities"
)

const (
	// maxUploadBytes bounds a request with a file: the file, the other fields, and what multipart adds.
	maxUploadBytes = testset.MaxFileBytes + 1<<20
	maxFieldBytes  = 64 << 10
	// delimiterHeader names the delimiter of the file that was read, as a JSON string. Source: contract §0 row 58.
	delimiterHeader = "Colonnade-CSV-Delimiter"
)

// MountTestsetFiles mounts the commands that take testcases from a file. Source: contract §5.8.
func MountTestsetFiles(r api.Router, commands *entities.Registry) {
	f := testsetFiles{commands}
	testsets := entity.Testsets()
	op := domain.Operation{
		Method: http.MethodPost, Permission: domain.EditTestsets, Tag: testsets.Plural, Preview: true, Limit: maxUploadBytes,
		Consumes: []string{"multipart/form-data"}, Response: entityschema.One(testsets.Name, entityschema.For(testsets).Simple()),
	}
	op.Path, op.Summary, op.Request = "/simple/testsets/upload", "Create testset from a CSV or JSON file.", uploadForm{"testset_slug", "testset_name", "testset_description", "testset_tags", "testset_meta"}
	r.Handle(op, f.create)
	op.Path, op.Summary = "/simple/testsets/:testset_id/upload", "Replace the testcases of testset by those of a CSV or JSON file: its next revision."
	op.Request = uploadForm{"testset_name", "testset_description", "testset_tags", "testset_meta"}
	r.Handle(op, f.edit)
	member := testsets.Member(entity.LevelRevision)
	op.Path, op.Summary = "/testsets/revisions/:testset_revision_id/upload", "Commit the testcases of a CSV or JSON file as the next revision of the same variant."
	op.Request, op.Response = uploadForm{"include_testcases"}, entityschema.One(member, entityschema.For(testsets).Record(entity.LevelRevision))
	r.Handle(op, f.commit)
}

type testsetFiles struct{ registry *entities.Registry }

// uploadForm are the fields of a form beside the file and its type.
type uploadForm []string

// JSONSchema describes the form.
func (f uploadForm) JSONSchema() map[string]any {
	properties := map[string]any{
		"file": map[string]any{"type": "string", "contentMediaType": "application/octet-stream", "description": "At most 20 MiB, 10000 testcases, 1000 columns. " +
			"CSV: a header, then a row for each testcase, cells as they are; JSON: a list of objects. " +
			"Columns named __tags__, __meta__ and __flags__ hold JSON objects beside the data; __id__ is ignored, ids follow from the rows."},
		"file_type": map[string]any{"type": "string", "enum": []string{string(testset.CSV), string(testset.JSON)}, "description": "Follows from the name of the file when it is absent; csv otherwise."},
	}
	properties["delimiter"] = map[string]any{"type": "string", "enum": testset.Delimiters(), "description": "Of a CSV file; found from its header when it is absent. The header " +
		delimiterHeader + " of the reply says which one it was."}
	for _, name := range f {
		schema := map[string]any{"type": "string"}
		switch name {
		case "include_testcases":
			schema = map[string]any{"type": "boolean"}
		case "testset_tags", "testset_meta":
			schema["description"] = "A JSON object."
		case "testset_slug":
			schema["description"] = "Generated when it is not given."
		default:
		}
		properties[name] = schema
	}
	return map[string]any{"type": "object", "properties": properties, "required": []string{"file"}, "additionalProperties": false}
}

// upload is what a form holds.
type upload struct {
	testcases []testset.Testcase
	fields    *request.Object
}

// readUpload reads a form with a file. Its parts are read as they come and
// none is larger than it may be: what is too much is refused unread.
func (f uploadForm) readUpload(c *gin.Context) (upload, error) {
	parts, err := c.Request.MultipartReader()
	if err != nil {
		return upload{}, badPart("multipart_invalid", "The body is a form (multipart/form-data) with a file")
	}
	members, name := map[string]any{}, ""
	var file []byte
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return upload{}, partError(err)
		}
		field := part.FormName()
		if _, twice := members[field]; twice || field == "file" && file != nil {
			return upload{}, badPart("value_error", "The field is there twice", field)
		}
		if field == "file" {
			name = part.FileName()
			if file, err = readPart(part, testset.MaxFileBytes); err != nil {
				return upload{}, err
			}
			continue
		}
		text, err := readPart(part, maxFieldBytes)
		if err != nil {
			return upload{}, err
		}
		members[field] = string(text)
	}
	o, err := f.fields(members)
	if err != nil {
		return upload{}, err
	}
	if file == nil {
		o.Fail("missing", "Field required", nil, "file")
	}
	format := testset.Format(o.Enum("file_type", string(testset.CSV), string(testset.JSON)))
	if err := o.Err(); err != nil {
		return upload{}, err
	}
	if format == "" {
		format = testset.CSV
		if strings.HasSuffix(strings.ToLower(name), ".json") {
			format = testset.JSON
		}
	}
	delimiter := testset.Delimiter("")
	if format == testset.CSV {
		if delimiter = testset.Delimiter(o.String("delimiter")); delimiter == "" {
			delimiter = testset.FindDelimiter(file)
		}
		if !slices.Contains(testset.Delimiters(), delimiter) {
			return upload{}, badPart("enum", "Input should be a comma, a semicolon, a tab or a vertical bar", "delimiter")
		}
		c.Header(delimiterHeader, strconv.Quote(string(delimiter)))
	}
	testcases, err := testset.Read(format, delimiter, file)
	return upload{testcases, o}, err
}

// fields gives the texts of a form as the members that they stand for.
func (f uploadForm) fields(texts map[string]any) (*request.Object, error) {
	for _, name := range f {
		text, _ := texts[name].(string)
		switch {
		case text == "": // a form sends what was left empty
			delete(texts, name)
		case name == "testset_tags" || name == "testset_meta":
			value, err := request.ParseValue([]byte(text))
			if err == nil {
				err = request.CheckStorable(value)
			}
			if err != nil {
				return nil, badPart("json_invalid", "Input should be a JSON object", name)
			}
			texts[name] = value
		case name == "include_testcases" && (text == "true" || text == "false"):
			texts[name] = text == "true"
		default:
		}
	}
	o := request.ObjectOf(texts, "body")
	if err := request.CheckStorable(texts); err != nil {
		return nil, err
	}
	for name := range texts {
		if name != "file_type" && name != "delimiter" && !slices.Contains(f, name) {
			o.Fail("extra_forbidden", "Extra inputs are not permitted", texts[name], name)
		}
	}
	return o, nil
}

func readPart(part *multipart.Part, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(part, most+1))
	if err != nil {
		return nil, partError(err)
	}
	if int64(len(text)) > most {
		return nil, domain.E(domain.TooLarge, "The field %.100q has more than %d bytes.", part.FormName(), most)
	}
	return text, nil
}

// partError leaves a body that is too large, that there is no room for, or that
// stopped coming to the engine; anything else is a broken form.
func partError(err error) error {
	_, large := errors.AsType[*http.MaxBytesError](err)
	_, classified := errors.AsType[*domain.Error](err)
	if large || classified || errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("api: reading a form: %w", err)
	}
	return badPart("multipart_invalid", "The form is broken: it ends before its end, or a part has no proper header")
}

func badPart(typ, msg string, loc ...any) error {
	return &domain.Error{Kind: domain.Invalid, Message: msg, Fields: []domain.Field{{Type: typ, Loc: append([]any{"body"}, loc...), Msg: msg}}}
}

// draft is a simple testset of the form's fields and file.
func (u upload) draft() (entities.SimpleDraft, error) {
	o := u.fields
	d := entities.SimpleDraft{Testset: &testset.Data{Testcases: u.testcases}}
	d.Slug, d.Name, d.Description = o.String("testset_slug"), o.StringPtr("testset_name"), o.StringPtr("testset_description")
	d.Tags, d.Meta = entity.Document(o.Map("testset_tags")), entity.Document(o.Map("testset_meta"))
	return d, o.Err()
}

func (t testsetFiles) create(c *gin.Context) error {
	u, err := uploadForm{"testset_slug", "testset_name", "testset_description", "testset_tags", "testset_meta"}.readUpload(c)
	if err != nil {
		return err
	}
	d, err := u.draft()
	if err != nil {
		return err
	}
	if d.Slug == "" {
		if d.Slug, err = t.registry.NewSlug(); err != nil {
			return err
		}
	} else if d.Name == nil {
		d.Name = &d.Slug
	}
	made, err := t.registry.CreateSimple(c.Request.Context(), api.Caller(c), entity.Testsets(), d)
	return endpoints{family: entity.Testsets()}.replySimple(c, &made, err)
}

func (t testsetFiles) edit(c *gin.Context) error {
	id, err := api.PathID(c, "testset_id")
	if err != nil {
		return err
	}
	u, err := uploadForm{"testset_name", "testset_description", "testset_tags", "testset_meta"}.readUpload(c)
	if err != nil {
		return err
	}
	d, err := u.draft()
	if err != nil {
		return err
	}
	edited, err := t.registry.EditSimple(c.Request.Context(), api.Caller(c), entity.Testsets(), id, d)
	if err == nil && edited == nil {
		return noTestset("testset", id)
	}
	return endpoints{family: entity.Testsets()}.replySimple(c, edited, err)
}

func (t testsetFiles) commit(c *gin.Context) error {
	id, err := api.PathID(c, "testset_revision_id")
	if err != nil {
		return err
	}
	u, err := uploadForm{"include_testcases"}.readUpload(c)
	if err != nil {
		return err
	}
	view := testset.ReadView(u.fields)
	if err := u.fields.Err(); err != nil {
		return err
	}
	made, err := t.registry.Commit(c.Request.Context(), api.Caller(c), entity.Testsets(), entities.CommitRequest{
		Named: id, Testset: &testset.Data{Testcases: u.testcases}, View: view,
	})
	if err == nil && made == nil {
		return noTestset("testset revision", id)
	}
	return endpoints{family: entity.Testsets()}.replyRevision(c, made, err)
}

func noTestset(what string, id uuid.UUID) error {
	return domain.E(domain.NotFound, "There is no %s %s.", what, id)
}
