-- The lineage of everything that has history: an artifact has variants, a
-- variant has immutable revisions. One set of tables for all kinds: workflows
-- (applications and evaluators are workflows with a role in flags),
-- environments, saved queries, testsets. Slugs are unique in a project for
-- each kind and level; an archived row keeps its slug.
--
-- Every key begins with the project, so that no statement can reach another
-- project's row by its id alone.

CREATE TABLE artifacts
(
    project_id    uuid        NOT NULL REFERENCES projects ON DELETE CASCADE,
    id            uuid        NOT NULL,
    kind          text        NOT NULL CHECK (kind IN ('workflow', 'environment', 'query', 'testset')),
    slug          text        NOT NULL,
    name          text,
    description   text,
    flags         jsonb,
    tags          jsonb,
    meta          jsonb,
    folder_id     uuid,
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz,
    deleted_at    timestamptz,
    created_by_id uuid        NOT NULL,
    updated_by_id uuid,
    deleted_by_id uuid,
    PRIMARY KEY (project_id, id)
);
CREATE UNIQUE INDEX artifacts_slug ON artifacts (project_id, kind, slug);
CREATE INDEX artifacts_page ON artifacts (project_id, kind, id);
-- The pages of applications and of evaluators, however many of the other kind stand between two of them.
CREATE INDEX artifacts_page_application ON artifacts (project_id, id) WHERE kind = 'workflow' AND flags @> '{"is_application": true}';
CREATE INDEX artifacts_page_evaluator ON artifacts (project_id, id) WHERE kind = 'workflow' AND flags @> '{"is_evaluator": true}';
CREATE INDEX artifacts_tags ON artifacts USING gin (tags jsonb_path_ops);
CREATE INDEX artifacts_meta ON artifacts USING gin (meta jsonb_path_ops);

-- next_version numbers the revisions: taking a number locks the variant until
-- the commit, so that numbers have no gaps and no doubles.
CREATE TABLE variants
(
    project_id    uuid        NOT NULL,
    id            uuid        NOT NULL,
    kind          text        NOT NULL,
    artifact_id   uuid        NOT NULL,
    slug          text        NOT NULL,
    name          text,
    description   text,
    flags         jsonb,
    tags          jsonb,
    meta          jsonb,
    next_version  integer     NOT NULL DEFAULT 0,
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz,
    deleted_at    timestamptz,
    created_by_id uuid        NOT NULL,
    updated_by_id uuid,
    deleted_by_id uuid,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, artifact_id) REFERENCES artifacts ON DELETE CASCADE
);
CREATE UNIQUE INDEX variants_slug ON variants (project_id, kind, slug);
CREATE INDEX variants_page ON variants (project_id, kind, id);
-- The oldest live variant of an artifact is its default one.
CREATE INDEX variants_artifact ON variants (project_id, artifact_id, created_at, id);

-- data is json, not jsonb: a revision is read back as it was written, and only as a whole.
CREATE TABLE revisions
(
    project_id    uuid        NOT NULL,
    id            uuid        NOT NULL,
    kind          text        NOT NULL,
    artifact_id   uuid        NOT NULL,
    variant_id    uuid        NOT NULL,
    version       integer     NOT NULL CHECK (version >= 0),
    slug          text        NOT NULL,
    name          text,
    description   text,
    flags         jsonb,
    tags          jsonb,
    meta          jsonb,
    author_id     uuid        NOT NULL,
    date          timestamptz NOT NULL,
    message       text,
    data          json,
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz,
    deleted_at    timestamptz,
    created_by_id uuid        NOT NULL,
    updated_by_id uuid,
    deleted_by_id uuid,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, variant_id) REFERENCES variants ON DELETE CASCADE,
    FOREIGN KEY (project_id, artifact_id) REFERENCES artifacts ON DELETE CASCADE
);
CREATE UNIQUE INDEX revisions_slug ON revisions (project_id, kind, slug);
CREATE UNIQUE INDEX revisions_version ON revisions (project_id, variant_id, version);
CREATE INDEX revisions_page ON revisions (project_id, kind, id);
CREATE INDEX revisions_artifact ON revisions (project_id, artifact_id, id);

-- What an environment points at, as intervals of its variant's versions: a
-- reference holds from from_version on, until until_version (exclusive; null
-- means still). So a deployment writes two rows however many applications the
-- environment holds, and any version can be put together again.
CREATE TABLE environment_references
(
    project_id    uuid    NOT NULL,
    variant_id    uuid    NOT NULL,
    key           text    NOT NULL,
    from_version  integer NOT NULL,
    until_version integer CHECK (until_version > from_version),
    entities      json    NOT NULL,
    PRIMARY KEY (project_id, variant_id, key, from_version),
    FOREIGN KEY (project_id, variant_id) REFERENCES variants ON DELETE CASCADE
);
-- One reference at a time under a key: a second open interval is a bug, not a state.
CREATE UNIQUE INDEX environment_references_open ON environment_references (project_id, variant_id, key) WHERE until_version IS NULL;
