-- How far the sink was at any moment of the last day or two: a row for each of
-- sink_progress, which keeps the last alone. A list of traces that is walked page by
-- page is that of one moment, which its cursor names, and this tells which rows
-- readers saw then. What was received then says nothing of it: it may have been on
-- its way for long.
--
-- at is the store's own clock when the row comes in, after all before next_offset is
-- there: later rows never say anything of an earlier moment.
CREATE TABLE IF NOT EXISTS {{table "sink_history"}}{{on_cluster}}
(
    topic            LowCardinality(String),
    stream_partition UInt32,
    at               DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    next_offset      UInt64 CODEC(Delta, ZSTD(1))
)
ENGINE = {{engine "MergeTree"}}
PARTITION BY toDate(at)
ORDER BY (topic, stream_partition, at)
TTL toDateTime(at) + INTERVAL 1 DAY
SETTINGS ttl_only_drop_parts = 1, concurrent_part_removal_threshold = 10000, {{settings}};
{{distributed "sink_history" "cityHash64(topic, stream_partition)"}}

CREATE MATERIALIZED VIEW IF NOT EXISTS {{table "sink_history_view"}}{{on_cluster}} TO {{table "sink_history"}} AS
SELECT topic, stream_partition, now64(3, 'UTC') AS at, next_offset FROM {{table "sink_progress"}};
