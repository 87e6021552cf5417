-- Where people keep their applications: a tree of a project. path is the
-- slugs from the root down, joined by slashes, which no slug holds; it is
-- unique, and a folder's subtree is a prefix of it.
CREATE TABLE folders
(
    project_id    uuid        NOT NULL REFERENCES projects ON DELETE CASCADE,
    id            uuid        NOT NULL,
    kind          text        NOT NULL CHECK (kind IN ('applications')),
    slug          text        NOT NULL,
    name          text,
    description   text,
    flags         jsonb,
    tags          jsonb,
    meta          jsonb,
    parent_id     uuid,
    path          text        NOT NULL,
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz,
    deleted_at    timestamptz,
    created_by_id uuid        NOT NULL,
    updated_by_id uuid,
    deleted_by_id uuid,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, parent_id) REFERENCES folders ON DELETE CASCADE
);
CREATE UNIQUE INDEX folders_path ON folders (project_id, kind, path text_pattern_ops);
CREATE INDEX folders_parent ON folders (project_id, parent_id);

CREATE INDEX artifacts_folder ON artifacts (project_id, folder_id) WHERE folder_id IS NOT NULL;
