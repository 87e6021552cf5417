package entities

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/entity/entityschema"
	"colonnade/write/api"
	"colonnade/write/registry/folders"
)

// MountFolders mounts the commands on the tree that people keep applications in. Source: contract §5.8.
func MountFolders(r api.Router, commands *folders.Registry) {
	f := folderEndpoints{commands}
	op := domain.Operation{Permission: domain.EditApplications, Tag: "folders", Preview: true, Response: entityschema.One("folder", entityschema.Folder())}
	op.Method, op.Path, op.Summary, op.Request = http.MethodPost, "/folders/", "Create a folder.", entityschema.FolderWrite(true)
	r.Handle(op, f.create)
	op.Method, op.Path, op.Summary, op.Request = http.MethodPut, "/folders/:folder_id", "Edit a folder: given members change; another parent moves it with all below it.", entityschema.FolderWrite(false)
	r.Handle(op, f.edit)
	op.Method, op.Summary, op.Request = http.MethodDelete, "Delete a folder and those below it; what lay in them lies nowhere then.", nil
	r.Handle(op, f.remove)
}

type folderEndpoints struct{ registry *folders.Registry }

func (f folderEndpoints) create(c *gin.Context) error {
	d, err := readFolder(c, uuid.Nil)
	if err != nil {
		return err
	}
	made, err := f.registry.CreateFolder(c.Request.Context(), api.Caller(c), d)
	return replyFolder(c, &made, err)
}

func (f folderEndpoints) edit(c *gin.Context) error {
	id, err := api.PathID(c, "folder_id")
	if err != nil {
		return err
	}
	d, err := readFolder(c, id)
	if err != nil {
		return err
	}
	edited, err := f.registry.EditFolder(c.Request.Context(), api.Caller(c), id, d)
	return replyFolder(c, edited, err)
}

func (f folderEndpoints) remove(c *gin.Context) error {
	id, err := api.PathID(c, "folder_id")
	if err != nil {
		return err
	}
	gone, err := f.registry.DeleteFolder(c.Request.Context(), api.Caller(c), id)
	return replyFolder(c, gone, err)
}

// readFolder reads a new folder, or the change of the one with this id.
func readFolder(c *gin.Context, id uuid.UUID) (folders.FolderDraft, error) {
	body, err := api.ReadObject(c)
	if err != nil {
		return folders.FolderDraft{}, err
	}
	record := readRecord(body, "folder")
	var mismatch error
	if id != uuid.Nil {
		mismatch = checkID(record, id)
	} else {
		record.Require("slug")
		record.Ignore("id")
	}
	d := folders.FolderDraft{RecordFields: readDraft(record, entity.Folders()), Moves: record.Present("parent_id")}
	if parent := record.UUID("parent_id"); parent != uuid.Nil {
		d.Parent = &parent
	}
	record.Enum("kind", string(entity.FolderOfApplications))
	record.Ignore("path")
	record.FailUnknown()
	if err := body.Err(); err != nil {
		return d, err
	}
	return d, mismatch
}

func replyFolder(c *gin.Context, f *entity.Folder, err error) error {
	if err != nil {
		return err
	}
	if f == nil {
		return api.Reply(c, "", nil)
	}
	return api.Reply(c, "folder", f.JSON())
}
