-- Parts that were merged away go in sweeps, of a hundred and more once sinks have
-- written for a minute. ClickHouse removes so many at once with 128 threads, which
-- leave a machine of two cores nothing else to do: every page waited 0.1 to 0.5 s,
-- once or twice a minute beside 2 500 spans a second. One after the other they take
-- a thread, and no page longer. More than 10 000 at once go as before.
ALTER TABLE {{table "spans"}}{{on_cluster}} MODIFY SETTING concurrent_part_removal_threshold = 10000;
ALTER TABLE {{table "span_documents"}}{{on_cluster}} MODIFY SETTING concurrent_part_removal_threshold = 10000;
ALTER TABLE {{table "span_ngrams"}}{{on_cluster}} MODIFY SETTING concurrent_part_removal_threshold = 10000;
ALTER TABLE {{table "span_sums"}}{{on_cluster}} MODIFY SETTING concurrent_part_removal_threshold = 10000;
ALTER TABLE {{table "trace_index"}}{{on_cluster}} MODIFY SETTING concurrent_part_removal_threshold = 10000;
ALTER TABLE {{table "trace_rollup"}}{{on_cluster}} MODIFY SETTING concurrent_part_removal_threshold = 10000;
ALTER TABLE {{table "rollup_minute"}}{{on_cluster}} MODIFY SETTING concurrent_part_removal_threshold = 10000;
ALTER TABLE {{table "annotations"}}{{on_cluster}} MODIFY SETTING concurrent_part_removal_threshold = 10000;
ALTER TABLE {{table "eval_results"}}{{on_cluster}} MODIFY SETTING concurrent_part_removal_threshold = 10000;
ALTER TABLE {{table "attribute_keys"}}{{on_cluster}} MODIFY SETTING concurrent_part_removal_threshold = 10000;
ALTER TABLE {{table "sink_progress"}}{{on_cluster}} MODIFY SETTING concurrent_part_removal_threshold = 10000;
ALTER TABLE {{table "rejects"}}{{on_cluster}} MODIFY SETTING concurrent_part_removal_threshold = 10000;
