-- Projects that are gone, and whose spans must go as well, also those that
-- were still on their way when the project was deleted. A row is written with
-- the deletion and stays: the stream and its dead topic can bring back what is
-- as old as they keep it, and a project's id is never used again.
CREATE TABLE erasures
(
    project_id   uuid PRIMARY KEY,
    requested_at timestamptz NOT NULL
);
CREATE INDEX erasures_requested ON erasures (requested_at);
