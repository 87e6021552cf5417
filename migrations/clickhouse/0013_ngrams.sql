-- Where a word may be: the n-grams (domain/ngram) of the documents of a section of
-- the stream, 1024 offsets of a partition, for each project. A search for what
-- hardly occurs reads the sections that have all n-grams of it, and not the
-- documents of the whole window. A span of 2 KB takes the sink 2.5 us for it and
-- 8 bytes of disk; the full-text index takes the store 25 us and 117 bytes.
--
-- A batch writes what its spans have. Each row holds by itself, for the text of a
-- span is in one batch; merges make one of a section's, and sets of thousands of
-- spans are hardly larger than those of hundreds.
--
-- min_start and max_start bound the starts of the spans. Few rows make a granule:
-- a set is up to 128 KiB.
CREATE TABLE IF NOT EXISTS {{table "span_ngrams"}}{{on_cluster}}
(
    project_id       UUID,
    stream_partition UInt32,
    section          UInt64 CODEC(Delta, ZSTD(1)),
    min_start        SimpleAggregateFunction(min, DateTime64(6, 'UTC')),
    max_start        SimpleAggregateFunction(max, DateTime64(6, 'UTC')),
    ngrams           AggregateFunction(groupBitmap, UInt32)
)
ENGINE = {{engine "AggregatingMergeTree"}}
ORDER BY (project_id, stream_partition, section)
SETTINGS index_granularity = 8, merge_selector_base = 10, {{settings}};
{{distributed "span_ngrams" "cityHash64(project_id, stream_partition, section)"}}

-- From which offset on span_ngrams has all documents of the partition. A sink of an
-- earlier version leaves it at the default: nothing is covered.
{{alter "sink_progress" "ADD COLUMN IF NOT EXISTS ngrams_from UInt64 DEFAULT 18446744073709551615"}}
