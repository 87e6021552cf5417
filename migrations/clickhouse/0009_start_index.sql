-- The key has the type before the start, so that by the key alone every part of
-- the week may hold every start: where one type ends and the next begins, and at
-- its last granule. A page of what is new opened them all, and more than a page
-- may read was refused (read/traces). With the first and last start of each
-- stretch it opens those in question. A granule of span_payloads is 64 rows; one
-- entry is for as many as one of spans.
ALTER TABLE {{table "spans"}}{{on_cluster}} ADD INDEX IF NOT EXISTS start_index start_time TYPE minmax GRANULARITY 1;
ALTER TABLE {{table "spans"}}{{on_cluster}} MATERIALIZE INDEX start_index;
ALTER TABLE {{table "span_payloads"}}{{on_cluster}} ADD INDEX IF NOT EXISTS start_index start_time TYPE minmax GRANULARITY 128;
ALTER TABLE {{table "span_payloads"}}{{on_cluster}} MATERIALIZE INDEX start_index;
