-- What a project lends to its invocations: keys of model providers, the key
-- that signs requests to hooks, values of their headers. sealed is AES-256-GCM
-- under a key that is not in this store, bound to the project and the name.

CREATE TABLE secrets
(
    project_id    uuid        NOT NULL REFERENCES projects ON DELETE CASCADE,
    name          text        NOT NULL,
    description   text        NOT NULL,
    sealed        bytea       NOT NULL,
    created_at    timestamptz NOT NULL,
    created_by_id uuid        NOT NULL,
    updated_at    timestamptz,
    updated_by_id uuid,
    PRIMARY KEY (project_id, name)
);
