-- The documents of spans, in place of span_payloads: in the order of the stream
-- and in few columns. Spans of a trace come in few records and lie together
-- there, where in the order of time each lies among what else ran beside it; so
-- a trace is a few stretches that its index names, and is read without spans at
-- all. Parts hold disjoint stretches of a partition: a row is looked for in one
-- of them. What lies together is alike, and takes two fifths less disk.
--
-- text  = inputs, outputs, parameters, internals, events, attributes: what a
--         search for content looks at;
-- head  = links, resource, scope, then the span's own fields (trace.AppendHead);
-- lengths = the lengths of these nine, UInt32 each. The nine are there as ALIAS
-- columns, for people.
--
-- Rows are never moved: the type of the trace is not here. Those of an earlier
-- version of a span are no row of spans any more, and readers see none of them.
-- trace_id and span_id end the key because a topic that was made again counts
-- its offsets anew.
CREATE TABLE IF NOT EXISTS {{table "span_documents"}}{{on_cluster}}
(
    project_id       UUID,
    stream_partition UInt32 CODEC(ZSTD(1)),
    stream_offset    UInt64 CODEC(Delta, ZSTD(1)),
    version          UInt64 CODEC(Delta, ZSTD(1)),
    week             Date CODEC(ZSTD(1)),
    start_time       DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    trace_id         FixedString(16) CODEC(ZSTD(1)),
    span_id          FixedString(8) CODEC(NONE),
    text             String CODEC(ZSTD(1)),
    head             String CODEC(ZSTD(1)),
    lengths          FixedString(36) CODEC(ZSTD(1)),
    inputs     String ALIAS substring(text, 1, reinterpretAsUInt32(substring(lengths, 1, 4))),
    outputs    String ALIAS substring(text, 1 + reinterpretAsUInt32(substring(lengths, 1, 4)), reinterpretAsUInt32(substring(lengths, 5, 4))),
    parameters String ALIAS substring(text, 1 + reinterpretAsUInt32(substring(lengths, 1, 4)) + reinterpretAsUInt32(substring(lengths, 5, 4)), reinterpretAsUInt32(substring(lengths, 9, 4))),
    internals  String ALIAS substring(text, 1 + reinterpretAsUInt32(substring(lengths, 1, 4)) + reinterpretAsUInt32(substring(lengths, 5, 4)) + reinterpretAsUInt32(substring(lengths, 9, 4)), reinterpretAsUInt32(substring(lengths, 13, 4))),
    events     String ALIAS substring(text, 1 + reinterpretAsUInt32(substring(lengths, 1, 4)) + reinterpretAsUInt32(substring(lengths, 5, 4)) + reinterpretAsUInt32(substring(lengths, 9, 4)) + reinterpretAsUInt32(substring(lengths, 13, 4)), reinterpretAsUInt32(substring(lengths, 17, 4))),
    attributes String ALIAS substring(text, 1 + reinterpretAsUInt32(substring(lengths, 1, 4)) + reinterpretAsUInt32(substring(lengths, 5, 4)) + reinterpretAsUInt32(substring(lengths, 9, 4)) + reinterpretAsUInt32(substring(lengths, 13, 4)) + reinterpretAsUInt32(substring(lengths, 17, 4)), reinterpretAsUInt32(substring(lengths, 21, 4))),
    links      String ALIAS substring(head, 1, reinterpretAsUInt32(substring(lengths, 25, 4))),
    resource   String ALIAS substring(head, 1 + reinterpretAsUInt32(substring(lengths, 25, 4)), reinterpretAsUInt32(substring(lengths, 29, 4))),
    scope      String ALIAS substring(head, 1 + reinterpretAsUInt32(substring(lengths, 25, 4)) + reinterpretAsUInt32(substring(lengths, 29, 4)), reinterpretAsUInt32(substring(lengths, 33, 4))),
    INDEX start_index start_time TYPE minmax GRANULARITY 256
)
ENGINE = {{engine "ReplacingMergeTree"}}
PARTITION BY week
PRIMARY KEY (project_id, stream_partition, stream_offset)
ORDER BY (project_id, stream_partition, stream_offset, version, trace_id, span_id)
SETTINGS index_granularity = 32, index_granularity_bytes = 131072, min_compress_block_size = 16384, merge_selector_base = 30, {{settings}};
{{distributed "span_documents" "cityHash64(trace_id)"}}

-- The records in which spans of a trace came, each partition << 44 | offset: where
-- its documents are. Records that hold nothing of it any more harm nobody.
{{alter "trace_index" "ADD COLUMN IF NOT EXISTS records SimpleAggregateFunction(groupUniqArrayArray, Array(UInt64))"}}

-- What was written before. The table changes its name first, so that a sink of
-- an earlier version stops there, and does not write to what is left behind.
-- Repeated, all of this makes equal rows, which replace each other.
RENAME TABLE IF EXISTS {{table "span_payloads"}} TO {{table "span_payloads_before"}}{{on_cluster}};
{{distributed "span_payloads_before" "cityHash64(trace_id)"}}

INSERT INTO {{whole "span_documents"}} (project_id, stream_partition, stream_offset, version, week, start_time, trace_id, span_id, text, head, lengths)
SELECT p.project_id, s.stream_partition, bitShiftRight(p.version, 20), p.version, p.week, p.start_time, p.trace_id, p.span_id,
    concat(p.inputs, p.outputs, p.parameters, p.internals, p.events, p.attributes),
    concat(p.links, p.resource, p.scope, char(1), s.parent_id,
        reinterpretAsFixedString(toInt64(toUnixTimestamp64Micro(s.start_time) * 1000 + s.start_ns)), reinterpretAsFixedString(toInt64(toUnixTimestamp64Micro(s.end_time) * 1000 + s.end_ns)),
        reinterpretAsFixedString(toUnixTimestamp64Micro(s.created_at)), reinterpretAsFixedString(toUnixTimestamp64Micro(s.updated_at)),
        unhex(replaceAll(toString(s.created_by_id), '-', '')), unhex(replaceAll(toString(s.updated_by_id), '-', '')), unhex(replaceAll(toString(s.hash_id), '-', '')),
        char(toInt8(s.trace_type_declared), if(s.span_type_declared, toInt8(s.span_type), 0), toInt8(s.span_kind), toInt8(s.status_code)),
        reinterpretAsFixedString(toUInt32(length(s.span_name))), reinterpretAsFixedString(toUInt32(length(s.status_message))), reinterpretAsFixedString(toUInt32(length(s.session_id))),
        reinterpretAsFixedString(toUInt32(length(s.user_id))), reinterpretAsFixedString(toUInt32(length(s.agent_id))),
        s.span_name, s.status_message, s.session_id, s.user_id, s.agent_id),
    toFixedString(concat(reinterpretAsFixedString(toUInt32(length(p.inputs))), reinterpretAsFixedString(toUInt32(length(p.outputs))), reinterpretAsFixedString(toUInt32(length(p.parameters))),
        reinterpretAsFixedString(toUInt32(length(p.internals))), reinterpretAsFixedString(toUInt32(length(p.events))), reinterpretAsFixedString(toUInt32(length(p.attributes))),
        reinterpretAsFixedString(toUInt32(length(p.links))), reinterpretAsFixedString(toUInt32(length(p.resource))), reinterpretAsFixedString(toUInt32(length(p.scope)))), 36)
FROM {{whole "span_payloads_before"}} AS p
INNER JOIN {{whole "spans"}} AS s ON p.project_id = s.project_id AND p.trace_type = s.trace_type AND p.start_time = s.start_time AND p.tie = s.tie
WHERE p.version = s.version
SETTINGS join_algorithm = 'full_sorting_merge', max_threads = 1, max_insert_threads = 1, max_block_size = 1024, min_insert_block_size_rows = 50000, min_insert_block_size_bytes = 100000000, distributed_product_mode = 'local';

INSERT INTO {{whole "trace_index"}}
    (project_id, trace_id, min_start, max_start, max_end, min_week, max_week, created_at, last_version, stream_partition, first_version, records)
SELECT project_id, trace_id, min(start_time), max(start_time), max(end_time), min(week), max(week), min(created_at), max(version), any(stream_partition), min(version),
    groupUniqArray(bitOr(bitShiftLeft(toUInt64(stream_partition), 44), bitShiftRight(version, 20)))
FROM {{whole "spans"}}
GROUP BY project_id, trace_id
SETTINGS max_bytes_before_external_group_by = 500000000, max_bytes_ratio_before_external_group_by = 0;
