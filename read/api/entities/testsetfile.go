package entities

import (
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/testset"
	"colonnade/read/api"
	"colonnade/read/entities"
)

// MountTestsetFiles mounts the downloads of testcases. Source: contract §5.8.
func MountTestsetFiles(r api.Router, reader *entities.Registry) {
	f := testsetFiles{lineageRoutes{family: entity.Testsets(), registry: reader, router: r}}
	op := domain.Operation{
		Method: http.MethodPost, Produces: []string{mediaOf(testset.CSV), mediaOf(testset.JSON)},
		Query: []domain.Parameter{
			{Name: "file_type", Type: "string", Doc: "csv, the default, or json."},
			{Name: "file_name", Type: "string", Doc: "The name of the file, without its ending."},
			{Name: "escape_formulas", Type: "boolean", Doc: "For CSV that is opened in a spreadsheet: a cell that begins like a formula (= + - @, tab, CR) gets a quote in front. " +
				"Such a file is not uploaded again: it says something else."},
		},
	}
	op.Path, op.Summary = "/testsets/revisions/:testset_revision_id/download", "The testcases of a revision as a file, which uploads as the same testcases."
	f.mount(op, f.download(entity.LevelRevision, "testset_revision_id", "revision_"))
	op.Path, op.Summary = "/simple/testsets/:testset_id/download", "The testcases of the latest revision as a file, which uploads as the same testcases."
	f.mount(op, f.download(entity.LevelArtifact, "testset_id", "testset_"))
}

type testsetFiles struct{ lineageRoutes }

func mediaOf(format testset.Format) string {
	if format == testset.JSON {
		return "application/json"
	}
	return "text/csv"
}

func (f testsetFiles) download(level entity.Level, parameter, prefix string) func(*gin.Context) error {
	return func(c *gin.Context) error {
		id, err := api.PathID(c, parameter)
		if err != nil {
			return err
		}
		format := testset.Format(c.DefaultQuery("file_type", string(testset.CSV)))
		if format != testset.CSV && format != testset.JSON {
			return invalidQuery("enum", "Input should be 'csv' or 'json'", "file_type", string(format))
		}
		neutral, err := strconv.ParseBool(c.DefaultQuery("escape_formulas", "false"))
		if err != nil {
			return invalidQuery("bool_parsing", "Input should be true or false", "escape_formulas", c.Query("escape_formulas"))
		}
		found, testcases, err := f.registry.Rows(c.Request.Context(), api.Project(c), level, id)
		if err != nil {
			return err
		}
		if found == nil {
			return domain.E(domain.NotFound, "There is no such testset, or it has no revision: %s.", id)
		}
		header := c.Writer.Header()
		header.Set("Content-Type", mediaOf(format)+"; charset=utf-8")
		header.Set("Content-Disposition", "attachment; filename="+testset.FileName(c.Query("file_name"), prefix+id.String(), format))
		// What people wrote into testcases is never run by a browser.
		header.Set("X-Content-Type-Options", "nosniff")
		c.Status(http.StatusOK)
		return testset.Write(c.Writer, format, testcases, neutral)
	}
}
