-- The tables of ClickHouse, each once, as the sink writes and readers read them.
-- The placeholders are rendered for one node, for replicas and for a cluster
-- (package migrations): `table` is the table that holds rows on a node, `settings`
-- are those that all tables share, `distributed` makes the Distributed table of a
-- cluster, whose sharding key sends rows that replace or delete each other to one
-- shard.
--
-- merge_selector_base above the default of 5 merges a row fewer times, and parts
-- wait for more of their size. At 14 000 spans/s the value of 30 for the wide
-- tables merged two fifths fewer bytes and took a tenth to a sixth less processor
-- time, for 33 parts of payloads instead of 26. The narrow tables are written with
-- every batch; merging them costs more than the few rows that a merge joins.

-- The core row of a span: light enough that a page of any list is one short
-- ordered read. Payloads are in span_payloads_packed.
--
-- The partition is clamped because clients' clocks lie, and a partition for each
-- wrong clock would stop all inserts. ClickHouse does not derive a bound on
-- partition_week from one on start_time: every query sends both.
--
-- The key has the type before the start, so by the key alone every part of a week
-- may hold every start; start_index and the statistics of start_time close the
-- parts and granules that hold none of a page. A page needs about fifty rows of
-- the two thousand that start in a dense second: granules of 1 024 rows and short
-- compressed blocks read fewer rows that are not on the page. Part statistics are
-- read by ClickHouse 26.4 and later; earlier versions carry them in vain, and do
-- not know 'basic', the successor of 'minmax'.
CREATE TABLE IF NOT EXISTS `colonnade`.`spans`
(
    project_id              UUID COMMENT 'project that owns the span',
    trace_type              Enum8('invocation' = 1, 'annotation' = 2, 'unknown' = 3) COMMENT 'type of the whole trace; later spans of the trace may change it',
    start_time              DateTime64(6, 'UTC') COMMENT 'start in microseconds; start_ns holds the rest' CODEC(DoubleDelta, ZSTD(1)) STATISTICS(minmax),
    sort_hash               UInt64 COMMENT 'hash of trace_id and span_id, orders spans of one start' CODEC(NONE),
    partition_week          Date COMMENT 'Monday of start_time, or 1970-01-01 if start_time is implausible beside the time of receipt' CODEC(ZSTD(1)),
    trace_id                FixedString(16) COMMENT 'trace id, 16 bytes' CODEC(ZSTD(1)),
    span_id                 FixedString(8) COMMENT 'span id, 8 bytes' CODEC(NONE),
    parent_id               FixedString(8) COMMENT 'span id of the parent as sent, zero bytes without one' CODEC(ZSTD(1)),
    is_root                 Bool DEFAULT parent_id = toFixedString('', 8) COMMENT 'whether the span is a root of what is stored: it has no parent, or its parent was not stored when the trace was finalized' CODEC(ZSTD(1)),
    is_rewritten            Bool DEFAULT false COMMENT 'whether the finalizer wrote the row again: is_root, session_id, user_id and agent_id are not those of the payload header' CODEC(ZSTD(1)),
    start_ns                UInt16 COMMENT 'nanoseconds of the start below the microsecond' CODEC(ZSTD(1)),
    end_time                DateTime64(6, 'UTC') COMMENT 'end in microseconds; end_ns holds the rest' CODEC(DoubleDelta, ZSTD(1)),
    end_ns                  UInt16 COMMENT 'nanoseconds of the end below the microsecond' CODEC(ZSTD(1)),
    version                 UInt64 COMMENT 'stream offset << 20 | index within the record; the highest version of a span counts' CODEC(Delta, ZSTD(1)),
    stream_partition        UInt32 COMMENT 'partition of the stream that holds the record' CODEC(ZSTD(1)),
    content_hash            UInt64 COMMENT 'hash of what the client sent; equal for a client retry' CODEC(NONE),
    created_at              DateTime64(6, 'UTC') COMMENT 'first received' CODEC(Delta, ZSTD(1)),
    updated_at              DateTime64(6, 'UTC') COMMENT 'last edited, 1970-01-01 if never' CODEC(Delta, ZSTD(1)),
    created_by_id           UUID COMMENT 'user who sent the span first' CODEC(ZSTD(1)),
    updated_by_id           UUID COMMENT 'user who edited the span last, zero if none' CODEC(ZSTD(1)),
    span_type               Enum8('task' = 1, 'workflow' = 2, 'agent' = 3, 'chain' = 4, 'tool' = 5, 'llm' = 6, 'chat' = 7, 'completion' = 8, 'embedding' = 9, 'query' = 10, 'rerank' = 11, 'unknown' = 12) COMMENT 'type of the span (ag.type.span), task if none was declared',
    span_type_declared      Bool COMMENT 'whether the span declares its type',
    trace_type_declared     Enum8('none' = 0, 'invocation' = 1, 'annotation' = 2) COMMENT 'type of the trace that this span itself declares (ag.type.trace)',
    span_kind               Enum8('SPAN_KIND_UNSPECIFIED' = 0, 'SPAN_KIND_INTERNAL' = 1, 'SPAN_KIND_SERVER' = 2, 'SPAN_KIND_CLIENT' = 3, 'SPAN_KIND_PRODUCER' = 4, 'SPAN_KIND_CONSUMER' = 5) COMMENT 'OpenTelemetry span kind',
    status_code             Enum8('STATUS_CODE_UNSET' = 0, 'STATUS_CODE_OK' = 1, 'STATUS_CODE_ERROR' = 2) COMMENT 'OpenTelemetry status code',
    span_name               String COMMENT 'span name as sent' CODEC(ZSTD(1)),
    status_message          String COMMENT 'status message as sent' CODEC(ZSTD(1)),
    response_hash           UInt64 COMMENT 'hash of the response id (gen_ai.response.id) of a model call, 0 without one: a call recorded twice counts once' CODEC(ZSTD(1)),
    failure_hash            UInt64 COMMENT 'hash of the status message of a span whose status is ERROR, 0 for others; bit 0 is 1 without an exception event' CODEC(ZSTD(1)),
    session_id              String COMMENT 'session, empty without one' CODEC(ZSTD(1)),
    user_id                 String COMMENT 'end user, empty without one' CODEC(ZSTD(1)),
    agent_id                String COMMENT 'agent, empty without one' CODEC(ZSTD(1)),
    duration_ms             Float64 COMMENT 'end minus start in milliseconds, NaN if absent' CODEC(ZSTD(1)),
    errors                  Float64 COMMENT 'errors of this span alone, NaN if absent' CODEC(ZSTD(1)),
    tokens_prompt           Float64 COMMENT 'prompt tokens of this span alone, NaN if absent' CODEC(ZSTD(1)),
    tokens_completion       Float64 COMMENT 'completion tokens of this span alone, NaN if absent' CODEC(ZSTD(1)),
    tokens_total            Float64 COMMENT 'all tokens of this span alone, NaN if absent' CODEC(ZSTD(1)),
    costs_prompt            Float64 COMMENT 'cost of the prompt of this span alone, NaN if absent' CODEC(ZSTD(1)),
    costs_completion        Float64 COMMENT 'cost of the completion of this span alone, NaN if absent' CODEC(ZSTD(1)),
    costs_total             Float64 COMMENT 'cost of this span alone, NaN if absent' CODEC(ZSTD(1)),
    service                 LowCardinality(String) COMMENT 'service.name of the resource',
    model                   LowCardinality(String) COMMENT 'model that answered, empty without one',
    provider                LowCardinality(String) COMMENT 'vendor of the model, empty without one',
    application_id          UUID COMMENT 'application of ag.references, zero without one' CODEC(ZSTD(1)),
    application_slug        LowCardinality(String) COMMENT 'slug of the application, empty without one',
    application_variant_id  UUID COMMENT 'application variant of ag.references, zero without one' CODEC(ZSTD(1)),
    application_revision_id UUID COMMENT 'application revision of ag.references, zero without one' CODEC(ZSTD(1)),
    evaluator_id            UUID COMMENT 'evaluator of ag.references, zero without one' CODEC(ZSTD(1)),
    evaluator_slug          LowCardinality(String) COMMENT 'slug of the evaluator, empty without one',
    evaluator_revision_id   UUID COMMENT 'evaluator revision of ag.references, zero without one' CODEC(ZSTD(1)),
    testset_revision_id     UUID COMMENT 'testset revision of ag.references, zero without one' CODEC(ZSTD(1)),
    testcase_id             UUID COMMENT 'test case of ag.references, zero without one' CODEC(ZSTD(1)),
    environment_slug        LowCardinality(String) COMMENT 'slug of the environment, empty without one',
    link_count              UInt16 COMMENT 'links to spans' CODEC(ZSTD(1)),
    link_trace_id           FixedString(16) COMMENT 'trace id of the first link, zero bytes without one' CODEC(ZSTD(1)),
    link_span_id            FixedString(8) COMMENT 'span id of the first link, zero bytes without one' CODEC(ZSTD(1)),
    link_trace_ids          Array(FixedString(16)) COMMENT 'trace ids of all links, in their order' CODEC(ZSTD(1)),
    link_span_ids           Array(FixedString(8)) COMMENT 'span ids of all links, in their order' CODEC(ZSTD(1)),
    event_names             Array(LowCardinality(String)) COMMENT 'names of events, in their order',
    hash_id                 UUID COMMENT 'id of the hash of the span, zero without one; a column because reading it from search_terms reads all terms' CODEC(ZSTD(1)),
    attributes_string       Map(LowCardinality(String), String) COMMENT 'strings among the attributes by dotted path, values up to 512 bytes' CODEC(ZSTD(1)),
    attributes_number       Map(LowCardinality(String), Float64) COMMENT 'numbers among the attributes by dotted path' CODEC(ZSTD(1)),
    attributes_bool         Map(LowCardinality(String), Bool) COMMENT 'booleans among the attributes by dotted path' CODEC(ZSTD(1)),
    attributes_unindexed    Array(LowCardinality(String)) COMMENT 'dotted paths of attributes that no map holds, because their value is too long or no exact number',
    search_terms            Array(String) COMMENT 'search terms: <path>=<value> of attributes, and terms of links, references and ids that begin with @' CODEC(ZSTD(1)),
    payload_bytes           UInt32 COMMENT 'bytes of text in span_payloads_packed: a page is cut by it before megabytes are fetched' CODEC(ZSTD(1)),
    attributes_enum         Map(LowCardinality(String), LowCardinality(String)) COMMENT 'the part of attributes_string whose paths have few values (model, provider, role): a condition on one reads 2 bytes a row instead of 54',
    INDEX span_id_index span_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX version_index version TYPE minmax GRANULARITY 1,
    INDEX start_index start_time TYPE minmax GRANULARITY 1,
    INDEX search_terms_index search_terms TYPE text(tokenizer = 'array'),
    INDEX attribute_value_index arrayConcat(mapKeys(attributes_number), mapKeys(attributes_bool), attributes_unindexed, mapValues(attributes_enum), event_names, [span_name, agent_id, service]) TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', version)
PARTITION BY partition_week
ORDER BY (project_id, trace_type, start_time, sort_hash)
SETTINGS index_granularity = 1024, min_compress_block_size = 16384, merge_selector_base = 30, auto_statistics_types = '', enable_block_number_column = 1, enable_block_offset_column = 1, concurrent_part_removal_threshold = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'one row a span and version, the highest version counts';


-- Payloads of spans in the order of the stream and in few columns. Spans of a trace
-- come in few records and lie together there, where in the order of time each lies
-- among what else ran meanwhile; so a trace is a few ranges that trace_index names,
-- and is read without spans at all. Parts hold disjoint ranges of a partition: a row
-- is looked for in one of them. What lies together is alike and takes two fifths less
-- disk.
--
-- Rows are never moved, so the type of the trace is not here. Rows of an earlier
-- version of a span have no row in spans any more, and readers see none of them.
-- trace_id and span_id end the key because a topic that was made again counts its
-- offsets anew.
--
-- A lookup reads one of 32 rows of the ids and of two of the heads: short compressed
-- blocks of those read less around it. The texts of a granule are longer than a block.
CREATE TABLE IF NOT EXISTS `colonnade`.`span_payloads_packed`
(
    project_id       UUID COMMENT 'project that owns the span',
    stream_partition UInt32 COMMENT 'partition of the stream that holds the record' CODEC(ZSTD(1)),
    stream_offset    UInt64 COMMENT 'offset of the record' CODEC(Delta, ZSTD(1)) STATISTICS(minmax),
    version          UInt64 COMMENT 'stream offset << 20 | index within the record' CODEC(Delta, ZSTD(1)),
    partition_week   Date COMMENT 'Monday of start_time, or 1970-01-01 if start_time is implausible beside the time of receipt' CODEC(ZSTD(1)),
    start_time       DateTime64(6, 'UTC') COMMENT 'start of the span in microseconds' CODEC(Delta, ZSTD(1)),
    trace_id         FixedString(16) COMMENT 'trace id, 16 bytes' CODEC(ZSTD(1)),
    span_id          FixedString(8) COMMENT 'span id, 8 bytes' CODEC(NONE),
    text             String COMMENT 'inputs, outputs, parameters, internals, events and attributes one after the other: what a search for content reads' CODEC(ZSTD(1)),
    head             String COMMENT 'links, resource, scope and the fields of the span one after the other' CODEC(ZSTD(1)),
    lengths          FixedString(36) COMMENT 'lengths of the nine texts in text and head, UInt32 each' CODEC(ZSTD(1)),
    INDEX start_index start_time TYPE minmax GRANULARITY 256
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
PARTITION BY partition_week
PRIMARY KEY (project_id, stream_partition, stream_offset)
ORDER BY (project_id, stream_partition, stream_offset, version, trace_id, span_id)
SETTINGS index_granularity = 32, index_granularity_bytes = 131072, min_compress_block_size = 2048, merge_selector_base = 30, auto_statistics_types = '', enable_block_number_column = 1, enable_block_offset_column = 1, concurrent_part_removal_threshold = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'payloads of spans, packed; the view span_payloads shows them';


-- The nine payloads of a row of span_payloads_packed, for people. They are no columns of the
-- table: each statement would analyse and plan all nine, used or not (2 ms of the 7 ms
-- of processor time that the payloads of a trace take). It has rows of superseded
-- versions, as the table does: the current ones are those whose (project_id,
-- stream_partition, version, span_id) is in spans.
CREATE VIEW IF NOT EXISTS `colonnade`.`span_payloads`
(
    project_id       UUID COMMENT 'project that owns the span',
    stream_partition UInt32 COMMENT 'partition of the stream that holds the record',
    stream_offset    UInt64 COMMENT 'offset of the record',
    version          UInt64 COMMENT 'stream offset << 20 | index within the record',
    partition_week   Date COMMENT 'Monday of start_time, or 1970-01-01 if start_time is implausible beside the time of receipt',
    start_time       DateTime64(6, 'UTC') COMMENT 'start of the span in microseconds',
    trace_id         FixedString(16) COMMENT 'trace id, 16 bytes',
    span_id          FixedString(8) COMMENT 'span id, 8 bytes',
    inputs String COMMENT 'inputs of the span, JSON text as stored, empty without any',
    outputs String COMMENT 'outputs of the span, JSON text as stored, empty without any',
    parameters String COMMENT 'parameters of the span, JSON text as stored, empty without any',
    internals String COMMENT 'internals of the span, JSON text as stored, empty without any',
    events String COMMENT 'events of the span, JSON text as stored, empty without any',
    attributes String COMMENT 'attributes of the span, JSON text as stored, empty without any',
    links String COMMENT 'links of the span, JSON text as stored, empty without any',
    resource String COMMENT 'resource of the span, JSON text as stored, empty without any',
    scope String COMMENT 'scope of the span, JSON text as stored, empty without any'
)
AS
SELECT project_id, stream_partition, stream_offset, version, partition_week, start_time, trace_id, span_id,
    substring(text, 1, reinterpretAsUInt32(substring(lengths, 1, 4))) AS inputs,
    substring(text, 1 + reinterpretAsUInt32(substring(lengths, 1, 4)), reinterpretAsUInt32(substring(lengths, 5, 4))) AS outputs,
    substring(text, 1 + reinterpretAsUInt32(substring(lengths, 1, 4)) + reinterpretAsUInt32(substring(lengths, 5, 4)), reinterpretAsUInt32(substring(lengths, 9, 4))) AS parameters,
    substring(text, 1 + reinterpretAsUInt32(substring(lengths, 1, 4)) + reinterpretAsUInt32(substring(lengths, 5, 4)) + reinterpretAsUInt32(substring(lengths, 9, 4)), reinterpretAsUInt32(substring(lengths, 13, 4))) AS internals,
    substring(text, 1 + reinterpretAsUInt32(substring(lengths, 1, 4)) + reinterpretAsUInt32(substring(lengths, 5, 4)) + reinterpretAsUInt32(substring(lengths, 9, 4)) + reinterpretAsUInt32(substring(lengths, 13, 4)), reinterpretAsUInt32(substring(lengths, 17, 4))) AS events,
    substring(text, 1 + reinterpretAsUInt32(substring(lengths, 1, 4)) + reinterpretAsUInt32(substring(lengths, 5, 4)) + reinterpretAsUInt32(substring(lengths, 9, 4)) + reinterpretAsUInt32(substring(lengths, 13, 4)) + reinterpretAsUInt32(substring(lengths, 17, 4)), reinterpretAsUInt32(substring(lengths, 21, 4))) AS attributes,
    substring(head, 1, reinterpretAsUInt32(substring(lengths, 25, 4))) AS links,
    substring(head, 1 + reinterpretAsUInt32(substring(lengths, 25, 4)), reinterpretAsUInt32(substring(lengths, 29, 4))) AS resource,
    substring(head, 1 + reinterpretAsUInt32(substring(lengths, 25, 4)) + reinterpretAsUInt32(substring(lengths, 29, 4)), reinterpretAsUInt32(substring(lengths, 33, 4))) AS scope
FROM `colonnade`.`span_payloads_packed`;

-- Where a word may be: the n-grams (package ngram) of the payloads of 1 024 offsets of
-- a partition, for each project. A search for a rare word reads the offset blocks that
-- have all n-grams of it instead of the payloads of the whole time range. A span of
-- 2 KB takes the sink 2.5 us for it and 8 bytes of disk; a full-text index takes
-- ClickHouse 25 us and 117 bytes.
--
-- A batch writes what its spans have. Each row is complete by itself, because the text
-- of a span is in one batch; merges make one row of a block, and sets of thousands
-- of spans are hardly larger than those of hundreds. A set is up to 128 KiB, so few
-- rows make a granule.
--
-- All five digits, and each digit after the ends of a few words, are soon somewhere in
-- a block of 18 000 spans; digit_ngrams tell numbers apart.
CREATE TABLE IF NOT EXISTS `colonnade`.`span_payload_ngrams`
(
    project_id       UUID COMMENT 'project that owns the spans',
    stream_partition UInt32 COMMENT 'partition of the stream',
    offset_block     UInt64 COMMENT 'stream offset divided by 1 024' CODEC(Delta, ZSTD(1)),
    min_start        SimpleAggregateFunction(min, DateTime64(6, 'UTC')) COMMENT 'first start of the spans',
    max_start        SimpleAggregateFunction(max, DateTime64(6, 'UTC')) COMMENT 'last start of the spans',
    ngrams           AggregateFunction(groupBitmap, UInt32) COMMENT 'hashes of the n-grams that occur in the payloads',
    digit_ngrams     AggregateFunction(groupBitmap, UInt32) COMMENT 'hashes of runs of digits with what stands before them'
)
ENGINE = ReplicatedAggregatingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
ORDER BY (project_id, stream_partition, offset_block)
SETTINGS index_granularity = 8, merge_selector_base = 10, auto_statistics_types = '', enable_block_number_column = 1, enable_block_offset_column = 1, concurrent_part_removal_threshold = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'n-grams of payloads by blocks of 1 024 stream offsets';


-- Where a trace is: only aggregates that duplicates, reordering and late spans cannot
-- harm. A trace id is anywhere between the first and the last of every part:
-- trace_filter keeps a lookup from reading each part, short compressed blocks from
-- reading eight granules for one.
CREATE TABLE IF NOT EXISTS `colonnade`.`trace_index`
(
    project_id         UUID COMMENT 'project that owns the trace',
    trace_id           FixedString(16) COMMENT 'trace id, 16 bytes',
    min_start          SimpleAggregateFunction(min, DateTime64(6, 'UTC')) COMMENT 'first start of its spans',
    max_start          SimpleAggregateFunction(max, DateTime64(6, 'UTC')) COMMENT 'last start of its spans',
    min_partition_week SimpleAggregateFunction(min, Date) COMMENT 'first partition that holds spans of it',
    max_partition_week SimpleAggregateFunction(max, Date) COMMENT 'last partition that holds spans of it',
    is_annotation      SimpleAggregateFunction(max, UInt8) COMMENT '1 if a span has, or had, links',
    declared_type      SimpleAggregateFunction(max, UInt8) COMMENT 'highest trace type that its spans declare or declared',
    created_at         SimpleAggregateFunction(min, DateTime64(6, 'UTC')) COMMENT 'first received',
    last_version       SimpleAggregateFunction(max, UInt64) COMMENT 'highest version that was written',
    stream_partition   SimpleAggregateFunction(max, UInt32) COMMENT 'partition of the stream that holds its records',
    last_write_at      SimpleAggregateFunction(max, DateTime64(6, 'UTC')) COMMENT 'last write, by the clock of the sink',
    finalized_flags    SimpleAggregateFunction(max, UInt64) COMMENT 'declared type and links as the finalizer found them: next stream offset << 4 | 8 | declared << 1 | linked. Writes at or after that offset add to it; earlier aggregates, which only grow, yield to it',
    first_version      SimpleAggregateFunction(min, UInt64) COMMENT 'lowest version that was written: a reader that has seen it has seen the whole trace',
    has_evaluator      SimpleAggregateFunction(max, UInt8) COMMENT '1 if a root names, or named, an evaluator: evaluation_index may have rows of it',
    records            SimpleAggregateFunction(groupUniqArrayArray, Array(UInt64)) COMMENT 'records that hold its payloads, each stream partition << 44 | offset; also records that hold none any more',
    INDEX last_write_index last_write_at TYPE minmax GRANULARITY 1,
    INDEX trace_filter trace_id TYPE bloom_filter(0.001) GRANULARITY 1
)
ENGINE = ReplicatedAggregatingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
ORDER BY (project_id, trace_id)
SETTINGS index_granularity = 1024, min_compress_block_size = 4096, merge_selector_base = 10, auto_statistics_types = '', enable_block_number_column = 1, enable_block_offset_column = 1, concurrent_part_removal_threshold = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'where a trace is: time range, partitions and records';


-- Totals of a finalized trace, recomputed from its spans, never counted up.
CREATE TABLE IF NOT EXISTS `colonnade`.`trace_totals`
(
    project_id        UUID COMMENT 'project that owns the trace',
    trace_id          FixedString(16) COMMENT 'trace id, 16 bytes',
    trace_type        Enum8('invocation' = 1, 'annotation' = 2, 'unknown' = 3) COMMENT 'type of the trace',
    start_time        DateTime64(6, 'UTC') COMMENT 'start of the first root',
    end_time          DateTime64(6, 'UTC') COMMENT 'last end of its spans',
    root_span_id      FixedString(8) COMMENT 'span id of the first root; a root without a parent comes before others',
    root_name         String COMMENT 'name of the first root',
    spans             UInt32 COMMENT 'spans of the trace',
    errors            Float64 COMMENT 'errors of the trace, NaN without any',
    tokens_prompt     Float64 COMMENT 'prompt tokens of the trace, each call once, NaN without any',
    tokens_completion Float64 COMMENT 'completion tokens of the trace, each call once, NaN without any',
    tokens_total      Float64 COMMENT 'all tokens of the trace, each call once, NaN without any',
    costs_prompt      Float64 COMMENT 'cost of the prompts of the trace, each call once, NaN without any',
    costs_completion  Float64 COMMENT 'cost of the completions of the trace, each call once, NaN without any',
    costs_total       Float64 COMMENT 'cost of the trace, each call once, NaN without any',
    version           UInt64 COMMENT 'highest version that the totals contain',
    finalized_at      DateTime64(6, 'UTC') COMMENT 'when the totals were computed',
    one_tree          UInt8 COMMENT '1 if the trace has one root. The totals then equal its cumulative metrics',
    INDEX start_index start_time TYPE minmax GRANULARITY 1
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', version)
ORDER BY (project_id, trace_id)
SETTINGS index_granularity = 1024, merge_selector_base = 10, auto_statistics_types = '', enable_block_number_column = 1, enable_block_offset_column = 1, concurrent_part_removal_threshold = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'totals of finalized traces';


-- Cumulative metrics of the spans of finalized traces, in the order and under the key of
-- spans: a filter on a cumulative metric reads the same range of both. A span
-- without a row here has no spans below it that add anything, so its cumulative
-- metrics are its own. Rows count only for traces that nothing was written to since
-- they were finalized.
CREATE TABLE IF NOT EXISTS `colonnade`.`span_cumulative`
(
    project_id        UUID COMMENT 'project that owns the span',
    trace_type        Enum8('invocation' = 1, 'annotation' = 2, 'unknown' = 3) COMMENT 'type of the whole trace, as in spans',
    start_time        DateTime64(6, 'UTC') COMMENT 'start in microseconds, as in spans' CODEC(DoubleDelta, ZSTD(1)),
    sort_hash         UInt64 COMMENT 'hash of trace_id and span_id, as in spans' CODEC(NONE),
    partition_week    Date COMMENT 'partition, as in spans' CODEC(ZSTD(1)),
    trace_id          FixedString(16) COMMENT 'trace id, 16 bytes' CODEC(NONE),
    span_id           FixedString(8) COMMENT 'span id, 8 bytes' CODEC(NONE),
    version           UInt64 COMMENT 'highest version of the trace that the sums contain' CODEC(Delta, ZSTD(1)),
    errors            Float64 COMMENT 'errors of the span and all below it, 0 if nothing to sum, NaN if the terms cancel out' CODEC(ZSTD(1)),
    tokens_prompt     Float64 COMMENT 'prompt tokens of the span and all below it, 0 and NaN as in errors' CODEC(ZSTD(1)),
    tokens_completion Float64 COMMENT 'completion tokens of the span and all below it, 0 and NaN as in errors' CODEC(ZSTD(1)),
    tokens_total      Float64 COMMENT 'all tokens of the span and all below it, 0 and NaN as in errors' CODEC(ZSTD(1)),
    costs_prompt      Float64 COMMENT 'cost of the prompts of the span and all below it, 0 and NaN as in errors' CODEC(ZSTD(1)),
    costs_completion  Float64 COMMENT 'cost of the completions of the span and all below it, 0 and NaN as in errors' CODEC(ZSTD(1)),
    costs_total       Float64 COMMENT 'cost of the span and all below it, 0 and NaN as in errors' CODEC(ZSTD(1))
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', version)
PARTITION BY partition_week
ORDER BY (project_id, trace_type, start_time, sort_hash)
SETTINGS index_granularity = 1024, merge_selector_base = 15, auto_statistics_types = '', enable_block_number_column = 1, enable_block_offset_column = 1, concurrent_part_removal_threshold = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'cumulative metrics of spans of finalized traces';


-- Metrics of the roots that start in a minute, so that statistics over days read
-- minutes instead of spans. A row for each minute and type that ever held a span; it
-- replaces the one before it whole.
--
-- The values themselves are kept, not sums: every statistic of them equals that of the
-- spans. Each is what readers see in ag.metrics.<path> of a root.
--
-- A minute serves readers unless a trace that reaches into it was written to at or
-- after its version, or after the watermark where that is higher; unless its last row
-- needs a rebuild; and unless undecided counts a root whose row in spans does not tell
-- what readers see.
CREATE TABLE IF NOT EXISTS `colonnade`.`trace_metrics_1m`
(
    project_id        UUID COMMENT 'project that owns the roots',
    minute            DateTime('UTC') COMMENT 'minute in which the roots start' CODEC(DoubleDelta, ZSTD(1)),
    trace_type        Enum8('invocation' = 1, 'annotation' = 2, 'unknown' = 3) COMMENT 'type of the traces',
    version           UInt64 COMMENT 'Unix microseconds: the row contains all that was written before (trace_index.last_write_at)' CODEC(Delta, ZSTD(1)),
    needs_rebuild     Bool COMMENT 'the row does not hold, because spans were removed, and is computed again',
    undecided         UInt64 COMMENT 'roots whose row in spans does not tell what readers see' CODEC(ZSTD(1)),
    roots             UInt64 COMMENT 'roots that start in the minute' CODEC(ZSTD(1)),
    duration          Array(Float64) COMMENT 'durations in milliseconds of the roots that have one' CODEC(ZSTD(1)),
    errors            Array(Float64) COMMENT 'cumulative errors of the roots that have any' CODEC(ZSTD(1)),
    tokens_prompt     Array(Float64) COMMENT 'cumulative prompt tokens of the roots that have any' CODEC(ZSTD(1)),
    tokens_completion Array(Float64) COMMENT 'cumulative completion tokens of the roots that have any' CODEC(ZSTD(1)),
    tokens_total      Array(Float64) COMMENT 'cumulative tokens of the roots that have any' CODEC(ZSTD(1)),
    costs_prompt      Array(Float64) COMMENT 'cumulative costs of prompts of the roots that have any' CODEC(ZSTD(1)),
    costs_completion  Array(Float64) COMMENT 'cumulative costs of completions of the roots that have any' CODEC(ZSTD(1)),
    costs_total       Array(Float64) COMMENT 'cumulative costs of the roots that have any' CODEC(ZSTD(1)),
    span_types        Map(LowCardinality(String), UInt64) COMMENT 'roots by the span type that they declare' CODEC(ZSTD(1)),
    INDEX version_index version TYPE minmax GRANULARITY 1
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', version)
ORDER BY (project_id, minute, trace_type)
SETTINGS index_granularity = 1024, auto_statistics_types = '', enable_block_number_column = 1, enable_block_offset_column = 1, concurrent_part_removal_threshold = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'metrics of roots by the minute in which they start';


-- Up to when trace_metrics_1m is complete, those minutes too that have no row.
CREATE TABLE IF NOT EXISTS `colonnade`.`rollup_watermark`
(
    rollup  LowCardinality(String) COMMENT 'table that the watermark is of: trace_metrics_1m',
    version UInt64 COMMENT 'Unix microseconds: all that was written before (trace_index.last_write_at) is in the rollup'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', version)
ORDER BY rollup
SETTINGS auto_statistics_types = '', enable_block_number_column = 1, enable_block_offset_column = 1, concurrent_part_removal_threshold = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'up to when rollups are complete';


-- Annotations in the two orders in which they are asked for. A span has rows here when
-- it links to other spans, or when it is a root that declares itself an annotation.
-- trace_type is that of its whole trace, as in spans, and follows it: readers of
-- annotations ask for 'annotation'.
--
-- Rows are copies made to be read in one piece; (start_time, sort_hash, version) leads to
-- the same in spans. Keys of references are made by migrations/schema (EvaluatorKey,
-- RevisionKey). There are no partitions by time: rows are looked for by what they
-- annotate, whenever they came, and each partition would be one more place to look.
--
-- Here: all annotations of one trace after the other, by evaluator, a row for each
-- link.
CREATE TABLE IF NOT EXISTS `colonnade`.`annotation_index`
(
    project_id           UUID COMMENT 'project that owns the annotation',
    link_trace_id        FixedString(16) COMMENT 'trace that is annotated, zero bytes without a link' CODEC(ZSTD(1)),
    evaluator_key        LowCardinality(String) COMMENT 'slug of the evaluator, else its id, empty without one',
    start_time           DateTime64(6, 'UTC') COMMENT 'start of the annotation' CODEC(Delta, ZSTD(1)),
    sort_hash            UInt64 COMMENT 'hash of trace_id and span_id, as in spans' CODEC(NONE),
    link_span_id         FixedString(8) COMMENT 'span that is annotated, zero bytes without a link' CODEC(ZSTD(1)),
    trace_type           Enum8('invocation' = 1, 'annotation' = 2, 'unknown' = 3) COMMENT 'type of the whole trace of the annotation',
    trace_id             FixedString(16) COMMENT 'trace id of the annotation itself' CODEC(NONE),
    span_id              FixedString(8) COMMENT 'span id of the annotation itself' CODEC(NONE),
    version              UInt64 COMMENT 'version of the span, as in spans' CODEC(Delta, ZSTD(1)),
    origin               Enum8('custom' = 1, 'human' = 2, 'auto' = 3) COMMENT 'who annotated',
    kind                 Enum8('adhoc' = 1, 'eval' = 2, 'play' = 3) COMMENT 'what the annotation was made for',
    channel              Enum8('otlp' = 1, 'web' = 2, 'sdk' = 3, 'api' = 4) COMMENT 'how the annotation came',
    evaluator_slug       LowCardinality(String) COMMENT 'slug of the evaluator, empty without one',
    evaluator_revision   LowCardinality(String) COMMENT 'key of the evaluator revision, empty without one',
    application_slug     LowCardinality(String) COMMENT 'slug of the application, empty without one',
    application_revision LowCardinality(String) COMMENT 'key of the application revision, empty without one',
    testset_revision     LowCardinality(String) COMMENT 'key of the testset revision, empty without one',
    testcase             String COMMENT 'key of the test case, empty without one' CODEC(ZSTD(1)),
    numbers              Map(LowCardinality(String), Float64) COMMENT 'numbers among the outputs by dotted path' CODEC(ZSTD(1)),
    strings              Map(LowCardinality(String), String) COMMENT 'strings among the outputs by dotted path' CODEC(ZSTD(1)),
    bools                Map(LowCardinality(String), Bool) COMMENT 'booleans among the outputs by dotted path' CODEC(ZSTD(1)),
    outputs              String COMMENT 'outputs of the annotation, JSON; empty where whole is false' CODEC(ZSTD(1)),
    whole                Bool COMMENT 'whether outputs and the three maps made of it are here; false for large outputs and spans with many links',
    INDEX trace_index trace_id TYPE bloom_filter(0.001) GRANULARITY 1
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', version)
ORDER BY (project_id, link_trace_id, evaluator_key, start_time, sort_hash, link_span_id)
SETTINGS index_granularity = 1024, merge_selector_base = 10, auto_statistics_types = '', enable_block_number_column = 1, enable_block_offset_column = 1, concurrent_part_removal_threshold = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'annotations by the trace that they annotate';


-- Here: all results of one evaluator, by what it judged. A row for each span with
-- annotation rows that names an evaluator, and for every other root that names one,
-- whatever type its trace has or gets.
CREATE TABLE IF NOT EXISTS `colonnade`.`evaluation_index`
(
    project_id           UUID COMMENT 'project that owns the result',
    evaluator_key        LowCardinality(String) COMMENT 'slug of the evaluator, else its id',
    application_revision LowCardinality(String) COMMENT 'key of the application revision, empty without one',
    testset_revision     LowCardinality(String) COMMENT 'key of the testset revision, empty without one',
    testcase             String COMMENT 'key of the test case, empty without one' CODEC(ZSTD(1)),
    start_time           DateTime64(6, 'UTC') COMMENT 'start of the result' CODEC(Delta, ZSTD(1)),
    sort_hash            UInt64 COMMENT 'hash of trace_id and span_id, as in spans' CODEC(NONE),
    trace_type           Enum8('invocation' = 1, 'annotation' = 2, 'unknown' = 3) COMMENT 'type of the whole trace of the result',
    trace_id             FixedString(16) COMMENT 'trace id of the result itself' CODEC(NONE),
    span_id              FixedString(8) COMMENT 'span id of the result itself' CODEC(NONE),
    version              UInt64 COMMENT 'version of the span, as in spans' CODEC(Delta, ZSTD(1)),
    evaluator_id         UUID COMMENT 'evaluator, zero without one' CODEC(ZSTD(1)),
    INDEX trace_index trace_id TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX evaluator_index evaluator_id TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', version)
ORDER BY (project_id, evaluator_key, application_revision, testset_revision, testcase, start_time, sort_hash)
SETTINGS index_granularity = 1024, merge_selector_base = 10, auto_statistics_types = '', enable_block_number_column = 1, enable_block_offset_column = 1, concurrent_part_removal_threshold = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'results of evaluators by evaluator, revision and test case';


-- Results of evaluation runs with what the table of a run shows of their traces, so that a
-- run of ten thousand testcases is one ordered read. Rows come from the outbox in Postgres
-- (write/registry/outbox), which publishes a result again whenever it changes; a result
-- without its trace's values yet is published first and replaced when the trace is visible.
CREATE TABLE IF NOT EXISTS `colonnade`.`run_results`
(
    project_id            UUID COMMENT 'project that owns the run',
    run_id                UUID COMMENT 'evaluation run',
    scenario_id           UUID COMMENT 'scenario of the run' CODEC(ZSTD(1)),
    repeat                UInt32 COMMENT 'repeat of the step, from 0' CODEC(ZSTD(1)),
    step                  LowCardinality(String) COMMENT 'key of the step',
    version               UInt64 COMMENT 'Unix microseconds of the change in Postgres; the highest version of a result counts' CODEC(Delta, ZSTD(1)),
    deleted               Bool COMMENT 'whether the result was deleted',
    step_type             Enum8('none' = 0, 'input' = 1, 'invocation' = 2, 'annotation' = 3) COMMENT 'type of the step, none if the run has no such step',
    step_position         UInt16 COMMENT 'position of the step in its run',
    status                LowCardinality(String) COMMENT 'pending, queued, running, success, failure, errors or cancelled',
    error                 String COMMENT 'why the step failed, empty without a failure' CODEC(ZSTD(1)),
    testcase_id           UUID COMMENT 'testcase, zero without one' CODEC(ZSTD(1)),
    trace_id              FixedString(16) COMMENT 'trace of the step, zero bytes without one' CODEC(NONE),
    judged_trace_id       FixedString(16) COMMENT 'of an annotation the trace that it is about, zero bytes without one' CODEC(NONE),
    evaluator             LowCardinality(String) COMMENT 'slug of the evaluator, empty for other steps',
    application_revision  LowCardinality(String) COMMENT 'key of the application revision that the result is of or about, empty without one',
    latency_ms            Float64 COMMENT 'duration of the root of the trace in milliseconds, NaN if absent' CODEC(ZSTD(1)),
    cost                  Float64 COMMENT 'cost of the whole trace, NaN if absent' CODEC(ZSTD(1)),
    inputs_preview        String COMMENT 'beginning of the inputs as text' CODEC(ZSTD(1)),
    expected_preview      String COMMENT 'beginning of the expected output of the testcase as text' CODEC(ZSTD(1)),
    outputs_preview       String COMMENT 'beginning of the outputs as text' CODEC(ZSTD(1)),
    outputs               String COMMENT 'outputs of an annotation, JSON; empty for other steps and where they are large' CODEC(ZSTD(1)),
    numbers               Map(LowCardinality(String), Float64) COMMENT 'numbers among the outputs of an annotation by dotted path' CODEC(ZSTD(1)),
    strings               Map(LowCardinality(String), String) COMMENT 'strings among the outputs of an annotation by dotted path' CODEC(ZSTD(1)),
    bools                 Map(LowCardinality(String), Bool) COMMENT 'booleans among the outputs of an annotation by dotted path' CODEC(ZSTD(1))
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', version)
ORDER BY (project_id, run_id, scenario_id, repeat, step)
SETTINGS index_granularity = 1024, auto_statistics_types = '', enable_block_number_column = 1, enable_block_offset_column = 1, concurrent_part_removal_threshold = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'results of evaluation runs, one row a result and version';


CREATE TABLE IF NOT EXISTS `colonnade`.`attribute_keys`
(
    project_id UUID COMMENT 'project in whose spans the path occurs',
    path       String COMMENT 'dotted path of the attribute',
    type       Enum8('string' = 1, 'number' = 2, 'bool' = 3, 'unindexed' = 4) COMMENT 'type of the value; unindexed is one that no map holds',
    sample     String COMMENT 'a value, cut short',
    seen_at    DateTime64(6, 'UTC') COMMENT 'when the path was last written here'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', seen_at)
ORDER BY (project_id, path, type)
SETTINGS auto_statistics_types = '', enable_block_number_column = 1, enable_block_offset_column = 1, concurrent_part_removal_threshold = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'paths that occur in attributes, to complete names of attributes';


CREATE TABLE IF NOT EXISTS `colonnade`.`rejected_spans`
(
    project_id       UUID COMMENT 'project that sent the span',
    rejected_at      DateTime64(6, 'UTC') COMMENT 'when the span was refused',
    source           LowCardinality(String) COMMENT 'how the span came (otlp, api, ...)',
    stage            LowCardinality(String) COMMENT 'which step refused it',
    reason           String COMMENT 'why, in one sentence',
    trace_id         String COMMENT 'trace id as far as known, hex',
    span_id          String COMMENT 'span id as far as known, hex',
    span_name        String COMMENT 'span name as far as known',
    stream_partition UInt32 COMMENT 'partition of the stream that holds the record',
    stream_offset    UInt64 COMMENT 'offset of the record',
    raw              String COMMENT 'the first bytes of what was sent; the whole record is in the dead-letter topic' CODEC(ZSTD(3))
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
PARTITION BY toMonday(rejected_at)
ORDER BY (project_id, rejected_at)
SETTINGS auto_statistics_types = '', enable_block_number_column = 1, enable_block_offset_column = 1, concurrent_part_removal_threshold = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'spans that were refused, and why';


-- How far the sink is: a row for each batch that became visible. A read that carries a
-- token waits until next_offset passes it.
CREATE TABLE IF NOT EXISTS `colonnade`.`sink_progress`
(
    topic            LowCardinality(String) COMMENT 'topic of the stream',
    stream_partition UInt32 COMMENT 'partition of the stream',
    next_offset      UInt64 COMMENT 'all records below this offset are visible',
    finalized_until  DateTime64(6, 'UTC') COMMENT 'traces last written to before this time are finalized',
    written_at       DateTime64(6, 'UTC') COMMENT 'when the row was written, by the clock of the sink'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', next_offset)
ORDER BY (topic, stream_partition)
SETTINGS auto_statistics_types = '', enable_block_number_column = 1, enable_block_offset_column = 1, concurrent_part_removal_threshold = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'progress of the sink by partition of the stream';


-- How far the sink was at any time of the last day or two: a row for each of
-- sink_progress, which keeps the last alone. All pages of a list of traces are of one
-- snapshot, which the cursor names, and this tells which rows were visible then. The
-- time of receipt does not: a record may have been on its way for hours.
--
-- at is ClickHouse's own clock when the row comes in, after all rows below next_offset:
-- later rows never change the answer for an earlier time.
CREATE TABLE IF NOT EXISTS `colonnade`.`sink_history`
(
    topic            LowCardinality(String) COMMENT 'topic of the stream',
    stream_partition UInt32 COMMENT 'partition of the stream',
    at               DateTime64(3, 'UTC') COMMENT 'when the row came in, by the clock of ClickHouse' CODEC(Delta, ZSTD(1)),
    next_offset      UInt64 COMMENT 'all records below this offset were visible' CODEC(Delta, ZSTD(1))
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
PARTITION BY toDate(at)
ORDER BY (topic, stream_partition, at)
TTL toDateTime(at) + INTERVAL 1 DAY
SETTINGS ttl_only_drop_parts = 1, auto_statistics_types = '', enable_block_number_column = 1, enable_block_offset_column = 1, concurrent_part_removal_threshold = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'progress of the sink over the last day or two';


CREATE MATERIALIZED VIEW IF NOT EXISTS `colonnade`.`sink_history_view` TO `colonnade`.`sink_history` AS
SELECT topic, stream_partition, now64(3, 'UTC') AS at, next_offset FROM `colonnade`.`sink_progress`;

-- What was edited or deleted, and when that was received: a row for each trace, or with
-- a span_id for each span of a delete that names some. A record that comes back from
-- the dead-letter topic is as old as its receipt, and its offset is new: without this
-- table it would bring back what was deleted since. A span that an edit names needs no
-- row here, because its new version says when it came. Equal rows are of one delete
-- that was done again.
CREATE TABLE IF NOT EXISTS `colonnade`.`tombstones`
(
    project_id       UUID COMMENT 'project that owns the trace',
    trace_id         FixedString(16) COMMENT 'trace id, 16 bytes',
    span_id          FixedString(8) COMMENT 'span id, zero bytes mean all spans of the trace',
    received_at      DateTime64(6, 'UTC') COMMENT 'when the edit or delete was received',
    stream_partition UInt32 COMMENT 'partition of the stream that holds the record',
    stream_offset    UInt64 COMMENT 'offset of the record'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
PARTITION BY toStartOfMonth(received_at)
ORDER BY (project_id, trace_id, span_id, received_at, stream_partition, stream_offset)
TTL toDateTime(received_at) + INTERVAL 180 DAY
SETTINGS ttl_only_drop_parts = 1, auto_statistics_types = '', enable_block_number_column = 1, enable_block_offset_column = 1, concurrent_part_removal_threshold = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'edits and deletes, for records that come back from the dead-letter topic';


-- Which views for analysts the database of a project has, so that those of another build
-- are replaced (write/registry/views). An empty version means that they were dropped.
CREATE TABLE IF NOT EXISTS `colonnade`.`project_views`
(
    project_id UUID COMMENT 'project whose views these are',
    version    String COMMENT 'checksum of the views, empty if they were dropped',
    made_at    DateTime64(6, 'UTC') COMMENT 'when they were made'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', made_at)
ORDER BY project_id
SETTINGS auto_statistics_types = '', enable_block_number_column = 1, enable_block_offset_column = 1, concurrent_part_removal_threshold = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'views for analysts by project';


-- What analysts read of entities: a copy of Postgres that is seconds old
-- (write/registry/entitycopy). Nothing of the service reads it.
CREATE TABLE IF NOT EXISTS `colonnade`.`entities`
(
    project_id     UUID COMMENT 'project that owns the entity',
    kind           Enum8('artifact' = 1, 'revision' = 2, 'testcase' = 3, 'run' = 4) COMMENT 'which table of Postgres it comes from',
    id             UUID COMMENT 'entity',
    family         LowCardinality(String) COMMENT 'workflow, environment, query, testset or run',
    is_application Bool COMMENT 'whether the artifact, or that of the revision, is an application',
    is_evaluator   Bool COMMENT 'whether the artifact, or that of the revision, is an evaluator',
    slug           String COMMENT 'slug, empty where the kind has none',
    name           String COMMENT 'name, empty without one',
    description    String COMMENT 'description, empty without one' CODEC(ZSTD(1)),
    flags          String COMMENT 'flags, JSON' CODEC(ZSTD(1)),
    tags           String COMMENT 'tags, JSON' CODEC(ZSTD(1)),
    meta           String COMMENT 'meta, JSON' CODEC(ZSTD(1)),
    parent_id      UUID COMMENT 'artifact of a revision, testset of a test case, else zero',
    parent         String COMMENT 'slug of the parent',
    variant_id     UUID COMMENT 'variant of a revision, else zero',
    variant        String COMMENT 'slug of the variant',
    version        Nullable(Int32) COMMENT 'version of a revision within its variant',
    status         LowCardinality(String) COMMENT 'status of a run',
    message        String COMMENT 'message of a revision' CODEC(ZSTD(1)),
    data           String COMMENT 'data of a test case, references of a run, JSON' CODEC(ZSTD(1)),
    created_at     DateTime64(6, 'UTC') COMMENT 'when it was created',
    updated_at     Nullable(DateTime64(6, 'UTC')) COMMENT 'when it was changed last',
    archived_at    Nullable(DateTime64(6, 'UTC')) COMMENT 'when it was archived',
    changed_at     DateTime64(6, 'UTC') COMMENT 'the latest of these times',
    deleted        Bool COMMENT 'whether Postgres no longer has it'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', changed_at)
ORDER BY (project_id, kind, id)
SETTINGS auto_statistics_types = '', enable_block_number_column = 1, enable_block_offset_column = 1, concurrent_part_removal_threshold = 10000, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'entities as Postgres has them, for views of analysts';

