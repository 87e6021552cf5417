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
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz,
    created_by_id uuid        NOT NULL,
    updated_by_id uuid,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, run_id) REFERENCES evaluation_runs ON DELETE CASCADE
);
CREATE INDEX evaluation_queues_run ON evaluation_queues (project_id, run_id, id);
