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
