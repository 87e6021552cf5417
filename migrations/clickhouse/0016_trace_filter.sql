-- A trace is anywhere between the first and the last id of every part, so that a
-- lookup of one read a stretch of each part to find it in one or two. By the filter
-- it reads those: fifty traces of a page took 12 ms, and take 7. One trace in a
-- thousand that is not there is read in vain; with one in a hundred a page of fifty
-- read two stretches of five so.
ALTER TABLE {{table "trace_index"}}{{on_cluster}} ADD INDEX IF NOT EXISTS trace_filter trace_id TYPE bloom_filter(0.001) GRANULARITY 1;
ALTER TABLE {{table "trace_index"}}{{on_cluster}} MATERIALIZE INDEX trace_filter;
