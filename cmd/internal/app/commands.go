package app

import (
	"colonnade/write/registry"
	"colonnade/write/registry/accounts"
	"colonnade/write/registry/entities"
	"colonnade/write/registry/folders"
)

// commandSet holds the commands that change Postgres, over one connection pool.
type commandSet struct {
	db       *registry.DB
	accounts *accounts.Registry
	entities *entities.Registry
	folders  *folders.Registry
}

func newCommands(cfg registry.Config, deps registry.Deps) (commandSet, error) {
	db, err := registry.New(cfg, deps)
	if err != nil {
		return commandSet{}, err
	}
	e, err := entities.New(db, cfg.ServicesURL)
	if err != nil {
		return commandSet{}, err
	}
	return commandSet{db: db, accounts: accounts.New(db, e), entities: e, folders: folders.New(db)}, nil
}
