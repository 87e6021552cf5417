-- The tables of Postgres, each once: accounts, entities with their history, evaluations.

-- fold is what a search in any case compares: lower case by Unicode's rules
-- whatever locale the database was made with. The collations that can do so
-- differ between versions and builds of Postgres; the first one there is taken.
DO $$
DECLARE
    found text;
BEGIN
    SELECT quote_ident(collname) INTO found
    FROM unnest(ARRAY ['pg_unicode_fast', 'pg_c_utf8', 'und-x-icu']) WITH ORDINALITY AS wanted(name, place)
    JOIN pg_collation ON collname = wanted.name AND collnamespace = 'pg_catalog'::regnamespace
    ORDER BY place LIMIT 1;
    EXECUTE 'CREATE FUNCTION fold(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN lower($1'
        || coalesce(' COLLATE pg_catalog.' || found, '') || ')';
END
$$;

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
-- role bounds what the key may do; null means all that its owner may. purpose
-- narrows it further. last_used_at is written about once a minute.
-- A revoked key keeps its row, so that a log line's prefix still has a name.
CREATE TABLE api_keys
(
    prefix     text PRIMARY KEY CHECK (prefix ~ '^[A-Za-z0-9]{8}$'),
    digest     bytea       NOT NULL CHECK (octet_length(digest) = 32),
    project_id uuid        NOT NULL,
    user_id    uuid        NOT NULL,
    name       text        NOT NULL,
    role       text CHECK (role IN ('owner', 'admin', 'developer', 'editor', 'annotator', 'viewer')),
    purpose    text        NOT NULL DEFAULT 'full' CHECK (purpose IN ('full', 'ingest', 'read', 'sql')),
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz,
    FOREIGN KEY (project_id, user_id) REFERENCES memberships ON DELETE CASCADE
);
CREATE INDEX api_keys_project ON api_keys (project_id, created_at);
CREATE INDEX api_keys_member ON api_keys (project_id, user_id);

-- The installation has one id, by which the cookies of two services on one machine
-- differ: cookies ignore ports. token_key encrypts the positions of writes in the tokens
-- that clients get, and nothing else.
CREATE TABLE installation
(
    id         uuid        NOT NULL,
    created_at timestamptz NOT NULL,
    token_key  bytea       NOT NULL
);
INSERT INTO installation VALUES (gen_random_uuid(), now(), uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));

-- A browser that is signed in acts as the keys that were given to it, one for each
-- project; it ends with its last key. digest is the SHA-256 of the cookie's token.
CREATE TABLE browser_sessions
(
    id         uuid PRIMARY KEY,
    digest     bytea       NOT NULL UNIQUE CHECK (octet_length(digest) = 32),
    user_id    uuid        NOT NULL REFERENCES users ON DELETE CASCADE,
    agent      text        NOT NULL,
    address    text        NOT NULL,
    created_at timestamptz NOT NULL,
    seen_at    timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX browser_sessions_user ON browser_sessions (user_id, created_at);
CREATE INDEX browser_sessions_expires ON browser_sessions (expires_at);

CREATE TABLE browser_session_keys
(
    session_id uuid        NOT NULL REFERENCES browser_sessions ON DELETE CASCADE,
    project_id uuid        NOT NULL REFERENCES projects ON DELETE CASCADE,
    key_prefix text        NOT NULL REFERENCES api_keys ON DELETE CASCADE,
    added_at   timestamptz NOT NULL,
    PRIMARY KEY (session_id, project_id)
);

-- A link opens the console signed in as its key, once. digest is the SHA-256 of the
-- link's token.
CREATE TABLE console_links
(
    digest     bytea PRIMARY KEY CHECK (octet_length(digest) = 32),
    key_prefix text        NOT NULL REFERENCES api_keys ON DELETE CASCADE,
    expires_at timestamptz NOT NULL
);
CREATE INDEX console_links_expires ON console_links (expires_at);

-- What a project lends to its invocations: keys of model providers, the key
-- that signs requests to hooks, values of their headers. encrypted is AES-256-GCM
-- under a key that is not in this store, bound to the project, the name and
-- the hosts. hosts are those that may receive the value in a header.

CREATE TABLE secrets
(
    project_id    uuid        NOT NULL REFERENCES projects ON DELETE CASCADE,
    name          text        NOT NULL,
    description   text        NOT NULL,
    encrypted     bytea       NOT NULL,
    hosts         text[]      NOT NULL,
    created_at    timestamptz NOT NULL,
    created_by_id uuid        NOT NULL,
    updated_at    timestamptz,
    updated_by_id uuid,
    PRIMARY KEY (project_id, name)
);

-- Projects that are gone, and whose spans must go as well, also those that
-- were still on their way when the project was deleted. A row is written with
-- the deletion and stays: the stream and its dead topic can bring back what is
-- as old as they keep it, and a project's id is never used again.
CREATE TABLE project_deletions
(
    project_id   uuid PRIMARY KEY,
    requested_at timestamptz NOT NULL
);
CREATE INDEX project_deletions_requested ON project_deletions (requested_at);

-- How many days a project keeps its spans and their payloads, by their start; 0 keeps them.
-- A project without a row keeps everything.
CREATE TABLE project_retention
(
    project_id    uuid PRIMARY KEY REFERENCES projects ON DELETE CASCADE,
    days          integer     NOT NULL CHECK (days >= 0),
    payload_days  integer     NOT NULL CHECK (payload_days >= 0),
    updated_at    timestamptz NOT NULL,
    updated_by_id uuid        NOT NULL
);

-- What a project has sent: spans on a day (UTC), and bytes since it was created.
-- payload_bytes is what was stored when received_bytes was measured_at_bytes.
CREATE TABLE project_usage
(
    project_id        uuid PRIMARY KEY REFERENCES projects ON DELETE CASCADE,
    day               date   NOT NULL,
    spans             bigint NOT NULL,
    received_bytes    bigint NOT NULL,
    payload_bytes     bigint NOT NULL DEFAULT 0,
    measured_at_bytes bigint NOT NULL DEFAULT 0,
    measured_at       timestamptz
);

-- What each process asks for of the limits of a project: by the second, and at once. A row
-- counts for three seconds; the rows of a process that ended are deleted by the others.
CREATE TABLE limit_demands
(
    project_id     uuid             NOT NULL REFERENCES projects ON DELETE CASCADE,
    process_id     uuid             NOT NULL,
    spans          double precision NOT NULL,
    reads          double precision NOT NULL,
    sql_statements double precision NOT NULL,
    invocations    double precision NOT NULL,
    asked_at       timestamptz      NOT NULL,
    PRIMARY KEY (project_id, process_id)
);
CREATE INDEX limit_demands_asked ON limit_demands (asked_at);

-- What callers changed, and the statements of SQL that they ran: a row for each request,
-- written before the request is served. status is that of its reply, null while it runs and
-- where the process ended before it was known. Rows stay after their project is deleted. project_id is
-- null for the administration key; user_id and key_prefix are null where there is none.
CREATE TABLE audit_log
(
    id         uuid PRIMARY KEY,
    at         timestamptz NOT NULL,
    project_id uuid,
    user_id    uuid,
    key_prefix text,
    session_id uuid,
    address    text        NOT NULL,
    action     text        NOT NULL,
    resource   text        NOT NULL,
    method     text        NOT NULL,
    route      text        NOT NULL,
    target     jsonb       NOT NULL,
    status     integer
);
CREATE INDEX audit_log_project ON audit_log (project_id, id);
CREATE INDEX audit_log_at ON audit_log (at);

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
-- What changed since a time is copied to ClickHouse every few seconds; so for revisions and runs.
CREATE INDEX artifacts_changed ON artifacts (greatest(created_at, updated_at, deleted_at));
CREATE INDEX artifacts_folder ON artifacts (project_id, folder_id) WHERE folder_id IS NOT NULL;

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
CREATE INDEX revisions_changed ON revisions (greatest(created_at, updated_at, deleted_at));

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

-- The rows of testsets. An id follows from the testset and from what the row
-- says, so that the revisions of a testset share the rows they have in common;
-- a revision's data holds the ids in their order. A row never changes and goes
-- with its testset.
--
-- place is where the row stood in the commit that brought it: those of one
-- moment are listed as they were written. data is json, not jsonb: it is read
-- back as it was written.
CREATE TABLE testcases
(
    project_id    uuid        NOT NULL,
    id            uuid        NOT NULL,
    testset_id    uuid        NOT NULL,
    place         integer     NOT NULL,
    data          json        NOT NULL,
    flags         jsonb,
    tags          jsonb,
    meta          jsonb,
    created_at    timestamptz NOT NULL,
    created_by_id uuid        NOT NULL,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, testset_id) REFERENCES artifacts ON DELETE CASCADE
);
CREATE INDEX testcases_page ON testcases (project_id, created_at, place, id);
CREATE INDEX testcases_testset ON testcases (project_id, testset_id, created_at, place, id);
CREATE INDEX testcases_tags ON testcases USING gin (tags jsonb_path_ops);
CREATE INDEX testcases_meta ON testcases USING gin (meta jsonb_path_ops);

-- What evaluations leave: a run says what is done over what; a scenario is one
-- row of it, a test case or a trace; a result is what one step gave for one
-- scenario and repeat, and names the trace it left; metrics sum results up;
-- a queue says which scenarios people look at. Spans and annotations
-- themselves are not here.
--
-- Every key begins with the project. A run takes its parts along; a part
-- belongs to a run of its own project, and a result to a scenario of its run.

-- refs are the references of all steps, each {"<name>": {id, slug, version}},
-- for the question which runs are of an application, an evaluator, a testset.
-- runner and leased_until tell which process works on the run and until when
-- nobody else takes it.
CREATE TABLE evaluation_runs
(
    project_id    uuid        NOT NULL REFERENCES projects ON DELETE CASCADE,
    id            uuid        NOT NULL,
    name          text,
    description   text,
    flags         jsonb       NOT NULL,
    tags          jsonb,
    meta          jsonb,
    status        text        NOT NULL CHECK (status IN ('pending', 'queued', 'running', 'success', 'failure', 'errors', 'cancelled')),
    data          json,
    refs          jsonb       NOT NULL,
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz,
    created_by_id uuid        NOT NULL,
    updated_by_id uuid,
    runner        uuid,
    leased_until  timestamptz,
    PRIMARY KEY (project_id, id)
);
CREATE INDEX evaluation_runs_changed ON evaluation_runs (greatest(created_at, updated_at));
CREATE INDEX evaluation_runs_status ON evaluation_runs (project_id, status, id);
CREATE INDEX evaluation_runs_flags ON evaluation_runs USING gin (flags jsonb_path_ops);
CREATE INDEX evaluation_runs_tags ON evaluation_runs USING gin (tags jsonb_path_ops);
CREATE INDEX evaluation_runs_meta ON evaluation_runs USING gin (meta jsonb_path_ops);
CREATE INDEX evaluation_runs_refs ON evaluation_runs USING gin (refs jsonb_path_ops);
-- What is to be done, in all projects: a runner takes the longest waiting one.
CREATE INDEX evaluation_runs_waiting ON evaluation_runs (leased_until NULLS FIRST, id) WHERE status IN ('queued', 'running');

-- The interval is in minutes and the timestamp its start, of what happens again
-- and again over fresh traces; both null of a run over test cases.
CREATE TABLE evaluation_scenarios
(
    project_id    uuid        NOT NULL,
    run_id        uuid        NOT NULL,
    id            uuid        NOT NULL,
    flags         jsonb,
    tags          jsonb,
    meta          jsonb,
    status        text        NOT NULL CHECK (status IN ('pending', 'queued', 'running', 'success', 'failure', 'errors', 'cancelled')),
    "interval"    integer CHECK ("interval" > 0),
    "timestamp"   timestamptz,
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz,
    created_by_id uuid        NOT NULL,
    updated_by_id uuid,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, run_id) REFERENCES evaluation_runs ON DELETE CASCADE
);
-- The pages of a run's scenarios, and what results refer to.
CREATE UNIQUE INDEX evaluation_scenarios_run ON evaluation_scenarios (project_id, run_id, id);

-- trace_id and span_id are in the form of the wire, 32 and 16 lower-case digits.
CREATE TABLE evaluation_results
(
    project_id    uuid        NOT NULL,
    run_id        uuid        NOT NULL,
    scenario_id   uuid        NOT NULL,
    step_key      text        NOT NULL,
    repeat_idx    integer     NOT NULL CHECK (repeat_idx >= 0),
    id            uuid        NOT NULL,
    flags         jsonb,
    tags          jsonb,
    meta          jsonb,
    status        text        NOT NULL CHECK (status IN ('pending', 'queued', 'running', 'success', 'failure', 'errors', 'cancelled')),
    "interval"    integer CHECK ("interval" > 0),
    "timestamp"   timestamptz,
    hash_id       uuid,
    trace_id      text CHECK (trace_id ~ '^[0-9a-f]{32}$'),
    span_id       text CHECK (span_id ~ '^[0-9a-f]{16}$'),
    testcase_id   uuid,
    error         json,
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz,
    created_by_id uuid        NOT NULL,
    updated_by_id uuid,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, run_id, scenario_id) REFERENCES evaluation_scenarios (project_id, run_id, id) ON DELETE CASCADE
);
-- One result of a step for a scenario and repeat: who sets it again replaces it.
CREATE UNIQUE INDEX evaluation_results_place ON evaluation_results (project_id, run_id, scenario_id, step_key, repeat_idx);
CREATE INDEX evaluation_results_run ON evaluation_results (project_id, run_id, id);
CREATE INDEX evaluation_results_scenario ON evaluation_results (project_id, scenario_id, id);
CREATE INDEX evaluation_results_trace ON evaluation_results (project_id, trace_id) WHERE trace_id IS NOT NULL;
CREATE INDEX evaluation_results_hash ON evaluation_results (project_id, hash_id) WHERE hash_id IS NOT NULL;

-- Results that run_results in ClickHouse does not hold as they are here. The trigger writes a
-- row with every change of a result, in its transaction, whatever makes the change: a
-- command, or the deletion of a scenario, a run or a project. write/registry/outbox
-- publishes and deletes the rows. There is no foreign key, because the row of a deleted
-- result stays without it. due_at is when a row is published next: later than the change while a
-- publisher works on it, and where the trace of the result is awaited.
CREATE TABLE evaluation_outbox
(
    project_id  uuid        NOT NULL,
    run_id      uuid        NOT NULL,
    scenario_id uuid        NOT NULL,
    step_key    text        NOT NULL,
    repeat_idx  integer     NOT NULL,
    version     bigint      NOT NULL,
    attempts    integer     NOT NULL DEFAULT 0,
    due_at      timestamptz NOT NULL,
    PRIMARY KEY (project_id, run_id, scenario_id, step_key, repeat_idx)
);
CREATE INDEX evaluation_outbox_due ON evaluation_outbox (due_at);

CREATE FUNCTION enqueue_result() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    r evaluation_results;
BEGIN
    IF TG_OP = 'DELETE' THEN
        r := OLD;
    ELSE
        r := NEW;
    END IF;
    INSERT INTO evaluation_outbox AS o (project_id, run_id, scenario_id, step_key, repeat_idx, version, due_at)
    VALUES (r.project_id, r.run_id, r.scenario_id, r.step_key, r.repeat_idx, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, clock_timestamp())
    ON CONFLICT (project_id, run_id, scenario_id, step_key, repeat_idx) DO UPDATE
    SET version = greatest(o.version + 1, EXCLUDED.version), attempts = 0, due_at = EXCLUDED.due_at;
    RETURN NULL;
END
$$;
CREATE TRIGGER evaluation_results_outbox AFTER INSERT OR UPDATE OR DELETE ON evaluation_results FOR EACH ROW EXECUTE FUNCTION enqueue_result();

-- Of a run as a whole (scenario and timestamp null), of one scenario, or of
-- one stretch of time.
CREATE TABLE evaluation_metrics
(
    project_id    uuid        NOT NULL,
    run_id        uuid        NOT NULL,
    scenario_id   uuid,
    "interval"    integer CHECK ("interval" > 0),
    "timestamp"   timestamptz,
    id            uuid        NOT NULL,
    flags         jsonb,
    tags          jsonb,
    meta          jsonb,
    status        text        NOT NULL CHECK (status IN ('pending', 'queued', 'running', 'success', 'failure', 'errors', 'cancelled')),
    data          json,
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz,
    created_by_id uuid        NOT NULL,
    updated_by_id uuid,
    PRIMARY KEY (project_id, id),
    CHECK (scenario_id IS NULL OR "timestamp" IS NULL),
    FOREIGN KEY (project_id, run_id) REFERENCES evaluation_runs ON DELETE CASCADE,
    FOREIGN KEY (project_id, run_id, scenario_id) REFERENCES evaluation_scenarios (project_id, run_id, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX evaluation_metrics_place ON evaluation_metrics (project_id, run_id,
    coalesce(scenario_id, '00000000-0000-0000-0000-000000000000'), coalesce("timestamp", '-infinity'), coalesce("interval", 0));
CREATE INDEX evaluation_metrics_run ON evaluation_metrics (project_id, run_id, id);
CREATE INDEX evaluation_metrics_scenario ON evaluation_metrics (project_id, scenario_id, id) WHERE scenario_id IS NOT NULL;

-- A run has at most one default queue that is not archived. with_run marks the queue of a run
-- that was made for it and goes with it.
CREATE TABLE evaluation_queues
(
    project_id    uuid        NOT NULL,
    run_id        uuid        NOT NULL,
    id            uuid        NOT NULL,
    name          text,
    description   text,
    flags         jsonb       NOT NULL,
    tags          jsonb,
    meta          jsonb,
    status        text        NOT NULL CHECK (status IN ('pending', 'queued', 'running', 'success', 'failure', 'errors', 'cancelled')),
    data          jsonb,
    with_run      boolean     NOT NULL DEFAULT false,
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz,
    deleted_at    timestamptz,
    created_by_id uuid        NOT NULL,
    updated_by_id uuid,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, run_id) REFERENCES evaluation_runs ON DELETE CASCADE
);
CREATE INDEX evaluation_queues_run ON evaluation_queues (project_id, run_id, id);
CREATE UNIQUE INDEX evaluation_queues_default ON evaluation_queues (project_id, run_id) WHERE (flags ->> 'is_default') = 'true' AND deleted_at IS NULL;
