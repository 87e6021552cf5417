-- What was edited or deleted, and when that was received: a row for each trace, or
-- with a span_id for each span of a delete that names some. A record that comes back
-- from the dead topic is of the moment in which it was received, and its offset is of
-- now: without this it would bring back what was deleted since. A span that an edit
-- names needs no row here, its new version says when it came.
--
-- Equal rows are of one removal, which was done again.
CREATE TABLE IF NOT EXISTS {{table "tombstones"}}{{on_cluster}}
(
    project_id       UUID,
    trace_id         FixedString(16),
    span_id          FixedString(8) COMMENT 'zero bytes mean all spans of the trace',
    received_at      DateTime64(6, 'UTC'),
    stream_partition UInt32,
    stream_offset    UInt64
)
ENGINE = {{engine "ReplacingMergeTree"}}
PARTITION BY toStartOfMonth(received_at)
ORDER BY (project_id, trace_id, span_id, received_at, stream_partition, stream_offset)
TTL toDateTime(received_at) + INTERVAL 180 DAY
SETTINGS ttl_only_drop_parts = 1, concurrent_part_removal_threshold = 10000, {{settings}};
{{distributed "tombstones" "cityHash64(trace_id)"}}
