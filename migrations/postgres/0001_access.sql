-- Who may reach what: people, the projects they are members of, and the keys
-- that act for them. A key belongs to a membership and dies with it; a project
-- takes everything it owns along.

CREATE TABLE users
(
    id         uuid PRIMARY KEY,
    email      text        NOT NULL,
    username   text        NOT NULL,
    created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX users_email ON users (lower(email));

CREATE TABLE organizations
(
    id         uuid PRIMARY KEY,
    name       text        NOT NULL,
    owner_id   uuid        NOT NULL REFERENCES users,
    created_at timestamptz NOT NULL
);
CREATE INDEX organizations_owner ON organizations (owner_id);

CREATE TABLE workspaces
(
    id              uuid PRIMARY KEY,
    organization_id uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    name            text        NOT NULL,
    created_at      timestamptz NOT NULL
);
CREATE INDEX workspaces_organization ON workspaces (organization_id);

CREATE TABLE projects
(
    id              uuid PRIMARY KEY,
    organization_id uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    workspace_id    uuid        NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    name            text        NOT NULL,
    is_default      boolean     NOT NULL,
    created_at      timestamptz NOT NULL
);
CREATE INDEX projects_organization ON projects (organization_id);
CREATE INDEX projects_workspace ON projects (workspace_id);

CREATE TABLE memberships
(
    project_id uuid        NOT NULL REFERENCES projects ON DELETE CASCADE,
    user_id    uuid        NOT NULL REFERENCES users ON DELETE CASCADE,
    role       text        NOT NULL CHECK (role IN ('owner', 'admin', 'developer', 'editor', 'annotator', 'viewer')),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (project_id, user_id)
);
CREATE INDEX memberships_user ON memberships (user_id);

-- digest is the SHA-256 of the secret; the secret itself is nowhere.
-- role bounds what the key may do; null means all that its owner may.
-- A revoked key keeps its row, so that a log line's prefix still has a name.
CREATE TABLE api_keys
(
    prefix     text PRIMARY KEY CHECK (prefix ~ '^[A-Za-z0-9]{8}$'),
    digest     bytea       NOT NULL CHECK (octet_length(digest) = 32),
    project_id uuid        NOT NULL,
    user_id    uuid        NOT NULL,
    name       text        NOT NULL,
    role       text CHECK (role IN ('owner', 'admin', 'developer', 'editor', 'annotator', 'viewer')),
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    revoked_at timestamptz,
    FOREIGN KEY (project_id, user_id) REFERENCES memberships ON DELETE CASCADE
);
CREATE INDEX api_keys_project ON api_keys (project_id, created_at);
CREATE INDEX api_keys_member ON api_keys (project_id, user_id);
