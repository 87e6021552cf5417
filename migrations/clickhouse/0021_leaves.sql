-- Which numbers, booleans and texts of few kinds occur in a granule at all: their
-- keys, those of what no map holds, the texts of label, and names of spans, agents,
-- services and events. Scores are in annotations, and a page of low scores read every
-- call beside them; what no span has looked at all spans. The expression is
-- schema.Leaves.
--
-- Rows that are there get it in the background, as label does (0020); until then they
-- are read as before.
ALTER TABLE {{table "spans"}}{{on_cluster}} ADD INDEX IF NOT EXISTS leaf_index arrayConcat(mapKeys(num), mapKeys(bool), long, mapValues(label), event_names, [span_name, agent_id, service]) TYPE bloom_filter(0.01) GRANULARITY 1;
ALTER TABLE {{table "spans"}}{{on_cluster}} MATERIALIZE INDEX leaf_index SETTINGS mutations_sync = 0;
