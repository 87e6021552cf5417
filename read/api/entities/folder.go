package entities

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/entity/entityschema"
	"colonnade/read/api"
	"colonnade/read/entities"
)

// MountFolders mounts the questions about the tree that people keep
// applications in. Source: contract §5.8.
func MountFolders(r api.Router, reader *entities.Registry) {
	f := folderRoutes{lineageRoutes{family: entity.Folders(), registry: reader}}
	op := domain.Operation{Permission: domain.ViewApplications, Tag: "folders", Preview: true}
	op.Method, op.Path, op.Summary = http.MethodGet, "/folders/:folder_id", "One folder."
	op.Response = entityschema.One("folder", entityschema.Folder())
	r.Handle(op, f.folder)
	op.Method, op.Path, op.Summary = http.MethodPost, "/folders/query", "List folders."
	op.Request, op.Response = entityschema.FolderQuery(), entityschema.List("folders", entityschema.Folder(), domain.Window{})
	r.Handle(op, f.folders)
}

// folderRoutes answer as those of lineages do.
type folderRoutes struct{ lineageRoutes }

func (f folderRoutes) folder(c *gin.Context) error {
	id, err := api.PathID(c, "folder_id")
	if err != nil {
		return err
	}
	found, err := f.registry.Folder(c.Request.Context(), api.Project(c), id)
	if err != nil || found == nil {
		return f.one(c, "", nil, err)
	}
	return f.one(c, "folder", found.JSON(), nil)
}

func (f folderRoutes) folders(c *gin.Context) error {
	body, err := f.form(c)
	if err != nil {
		return err
	}
	o := body.Object("folder")
	q := entities.FolderQuery{
		Flags: api.WithoutNulls(o.Map("flags")), Tags: o.Map("tags"), Meta: o.Map("meta"), Name: o.String("name"), Description: o.String("description"),
		Slugs: textsOf(o, "slug", "slugs"), Path: o.String("path"), Prefix: o.String("prefix"), OfParent: o.Present("parent_id"),
		Refs: f.readReferences(body, entity.LevelArtifact),
	}
	if parent := o.UUID("parent_id"); parent != uuid.Nil {
		q.Parent = &parent
	}
	o.Enum("kind", string(entity.FolderOfApplications))
	o.FailUnknown()
	if w := body.Object("windowing"); w != nil {
		q.Window = readLineageWindow(w)
	}
	body.FailUnknown()
	if err := body.Err(); err != nil {
		return err
	}
	found, err := f.registry.Folders(c.Request.Context(), api.Project(c), q)
	return replyLineages(c, "folders", q.Window, found, (*entity.Folder).JSON, err)
}
