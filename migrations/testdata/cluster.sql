-- The core row of a span: light enough that a page of any view is one short
-- ordered read. Text and documents are in span_payloads under the same key.
--
-- week is the partition: the Monday of start_time, or 1970-01-01 when
-- start_time is implausible beside the time of receipt (clients' clocks lie,
-- and a partition for each lie would stop all inserts). ClickHouse does not
-- derive a bound on week from one on start_time: every query sends both.
--
-- version = stream offset << 20 | index within the record: later writes of a
-- span are greater, and (stream_partition, version) tells which rows a range of
-- the stream made. NaN in a metric means "absent".
--
-- trace_type is the type of the whole trace and may change when later spans
-- decide it: readers show it in place of what attributes says under
-- ag.type.trace. trace_type_declared is what this span itself declared.
--
-- hash_id = the id of the span's hash (contract §1.8; there is one at most), zero
-- without one: reading it back from kv would read all tokens.
--
-- merge_selector_base is above the default 5: a row is merged fewer times (the
-- index on kv is rebuilt in each merge), for a few parts more.
--
-- payload_bytes = the length of this span's text in span_payloads: a page is cut
-- by it before documents of megabytes are fetched.
CREATE TABLE IF NOT EXISTS `colonnade`.`spans_local` ON CLUSTER `main`
(
    project_id              UUID,
    trace_type              Enum8('invocation' = 1, 'annotation' = 2, 'unknown' = 3),
    start_time              DateTime64(6, 'UTC') CODEC(DoubleDelta, ZSTD(1)),
    tie                     UInt64 CODEC(NONE),
    week                    Date CODEC(ZSTD(1)),
    trace_id                FixedString(16) CODEC(ZSTD(1)),
    span_id                 FixedString(8) CODEC(NONE),
    parent_id               FixedString(8) CODEC(ZSTD(1)),
    start_ns                UInt16 CODEC(ZSTD(1)),
    end_time                DateTime64(6, 'UTC') CODEC(DoubleDelta, ZSTD(1)),
    end_ns                  UInt16 CODEC(ZSTD(1)),
    version                 UInt64 CODEC(Delta, ZSTD(1)),
    stream_partition        UInt32 CODEC(ZSTD(1)),
    content_hash            UInt64 CODEC(NONE),
    created_at              DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    updated_at              DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    created_by_id           UUID CODEC(ZSTD(1)),
    updated_by_id           UUID CODEC(ZSTD(1)),
    span_type               Enum8('task' = 1, 'workflow' = 2, 'agent' = 3, 'chain' = 4, 'tool' = 5, 'llm' = 6, 'chat' = 7, 'completion' = 8, 'embedding' = 9, 'query' = 10, 'rerank' = 11, 'unknown' = 12),
    span_type_declared      Bool,
    trace_type_declared     Enum8('none' = 0, 'invocation' = 1, 'annotation' = 2),
    span_kind               Enum8('SPAN_KIND_UNSPECIFIED' = 0, 'SPAN_KIND_INTERNAL' = 1, 'SPAN_KIND_SERVER' = 2, 'SPAN_KIND_CLIENT' = 3, 'SPAN_KIND_PRODUCER' = 4, 'SPAN_KIND_CONSUMER' = 5),
    status_code             Enum8('STATUS_CODE_UNSET' = 0, 'STATUS_CODE_OK' = 1, 'STATUS_CODE_ERROR' = 2),
    span_name               String CODEC(ZSTD(1)),
    status_message          String CODEC(ZSTD(1)),
    session_id              String CODEC(ZSTD(1)),
    user_id                 String CODEC(ZSTD(1)),
    agent_id                String CODEC(ZSTD(1)),
    duration_ms             Float64 CODEC(ZSTD(1)),
    errors                  Float64 CODEC(ZSTD(1)),
    tokens_prompt           Float64 CODEC(ZSTD(1)),
    tokens_completion       Float64 CODEC(ZSTD(1)),
    tokens_total            Float64 CODEC(ZSTD(1)),
    costs_prompt            Float64 CODEC(ZSTD(1)),
    costs_completion        Float64 CODEC(ZSTD(1)),
    costs_total             Float64 CODEC(ZSTD(1)),
    service                 LowCardinality(String),
    model                   LowCardinality(String),
    provider                LowCardinality(String),
    application_id          UUID CODEC(ZSTD(1)),
    application_slug        LowCardinality(String),
    application_variant_id  UUID CODEC(ZSTD(1)),
    application_revision_id UUID CODEC(ZSTD(1)),
    evaluator_id            UUID CODEC(ZSTD(1)),
    evaluator_slug          LowCardinality(String),
    evaluator_revision_id   UUID CODEC(ZSTD(1)),
    testset_revision_id     UUID CODEC(ZSTD(1)),
    testcase_id             UUID CODEC(ZSTD(1)),
    environment_slug        LowCardinality(String),
    link_count              UInt16 CODEC(ZSTD(1)),
    link_trace_id           FixedString(16) CODEC(ZSTD(1)),
    link_span_id            FixedString(8) CODEC(ZSTD(1)),
    link_trace_ids          Array(FixedString(16)) CODEC(ZSTD(1)),
    link_span_ids           Array(FixedString(8)) CODEC(ZSTD(1)),
    event_names             Array(LowCardinality(String)),
    hash_id                 UUID CODEC(ZSTD(1)),
    str                     Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    num                     Map(LowCardinality(String), Float64) CODEC(ZSTD(1)),
    bool                    Map(LowCardinality(String), Bool) CODEC(ZSTD(1)),
    long                    Array(LowCardinality(String)),
    kv                      Array(String) CODEC(ZSTD(1)),
    payload_bytes           UInt32 CODEC(ZSTD(1)),
    INDEX span_id_index span_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX version_index version TYPE minmax GRANULARITY 1,
    INDEX kv_index kv TYPE text(tokenizer = 'array')
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', version)
PARTITION BY week
ORDER BY (project_id, trace_type, start_time, tie)
SETTINGS merge_selector_base = 8, index_granularity = 1024, min_compress_block_size = 16384, auto_statistics_types = '', enable_block_number_column = 1, enable_block_offset_column = 1, replicated_deduplication_window = 500, replicated_deduplication_window_seconds = 604800;
CREATE TABLE IF NOT EXISTS `colonnade`.`spans` ON CLUSTER `main` AS `colonnade`.`spans_local`
ENGINE = Distributed('main', 'colonnade', 'spans_local', cityHash64(trace_id));

-- What a page needs only for the rows it shows. Small granules: one row of a
-- page costs one granule. Those of 64 rows take 5 % more disk than those of 512,
-- and a page of scattered rows two thirds of the time.
CREATE TABLE IF NOT EXISTS `colonnade`.`span_payloads_local` ON CLUSTER `main`
(
    project_id  UUID,
    trace_type  Enum8('invocation' = 1, 'annotation' = 2, 'unknown' = 3),
    start_time  DateTime64(6, 'UTC') CODEC(DoubleDelta, ZSTD(1)),
    tie         UInt64 CODEC(NONE),
    week        Date CODEC(ZSTD(1)),
    trace_id    FixedString(16) CODEC(ZSTD(1)),
    span_id     FixedString(8) CODEC(NONE),
    version     UInt64 CODEC(Delta, ZSTD(1)),
    inputs      String CODEC(ZSTD(1)),
    outputs     String CODEC(ZSTD(1)),
    parameters  String CODEC(ZSTD(1)),
    internals   String CODEC(ZSTD(1)),
    attributes  String CODEC(ZSTD(1)),
    events      String CODEC(ZSTD(1)),
    links       String CODEC(ZSTD(1)),
    resource    String CODEC(ZSTD(1)),
    scope       String CODEC(ZSTD(1))
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', version)
PARTITION BY week
ORDER BY (project_id, trace_type, start_time, tie)
SETTINGS index_granularity = 64, index_granularity_bytes = 131072, merge_selector_base = 10, auto_statistics_types = '', enable_block_number_column = 1, enable_block_offset_column = 1, replicated_deduplication_window = 500, replicated_deduplication_window_seconds = 604800;
CREATE TABLE IF NOT EXISTS `colonnade`.`span_payloads` ON CLUSTER `main` AS `colonnade`.`span_payloads_local`
ENGINE = Distributed('main', 'colonnade', 'span_payloads_local', cityHash64(trace_id));

-- Where a trace is: only aggregates that duplicates, reordering and late spans
-- cannot harm.
CREATE TABLE IF NOT EXISTS `colonnade`.`trace_index_local` ON CLUSTER `main`
(
    project_id    UUID,
    trace_id      FixedString(16),
    min_start     SimpleAggregateFunction(min, DateTime64(6, 'UTC')),
    max_start     SimpleAggregateFunction(max, DateTime64(6, 'UTC')),
    max_end       SimpleAggregateFunction(max, DateTime64(6, 'UTC')),
    min_week      SimpleAggregateFunction(min, Date),
    max_week      SimpleAggregateFunction(max, Date),
    is_annotation SimpleAggregateFunction(max, UInt8),
    declared_type SimpleAggregateFunction(max, UInt8),
    has_error     SimpleAggregateFunction(max, UInt8),
    root_span_id  SimpleAggregateFunction(max, FixedString(8)),
    created_at    SimpleAggregateFunction(min, DateTime64(6, 'UTC')),
    last_version  SimpleAggregateFunction(max, UInt64),
    stream_partition SimpleAggregateFunction(max, UInt32),
    touched_at    SimpleAggregateFunction(max, DateTime64(6, 'UTC')),
    INDEX touched_index touched_at TYPE minmax GRANULARITY 1
)
ENGINE = ReplicatedAggregatingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
ORDER BY (project_id, trace_id)
SETTINGS index_granularity = 1024, auto_statistics_types = '', enable_block_number_column = 1, enable_block_offset_column = 1, replicated_deduplication_window = 500, replicated_deduplication_window_seconds = 604800;
CREATE TABLE IF NOT EXISTS `colonnade`.`trace_index` ON CLUSTER `main` AS `colonnade`.`trace_index_local`
ENGINE = Distributed('main', 'colonnade', 'trace_index_local', cityHash64(trace_id));

-- Totals of a settled trace, recomputed from spans, never counted up.
CREATE TABLE IF NOT EXISTS `colonnade`.`trace_rollup_local` ON CLUSTER `main`
(
    project_id        UUID,
    trace_id          FixedString(16),
    trace_type        Enum8('invocation' = 1, 'annotation' = 2, 'unknown' = 3),
    start_time        DateTime64(6, 'UTC'),
    end_time          DateTime64(6, 'UTC'),
    root_span_id      FixedString(8),
    root_name         String,
    spans             UInt32,
    errors            Float64,
    tokens_prompt     Float64,
    tokens_completion Float64,
    tokens_total      Float64,
    costs_prompt      Float64,
    costs_completion  Float64,
    costs_total       Float64,
    version           UInt64,
    settled_at        DateTime64(6, 'UTC'),
    INDEX start_index start_time TYPE minmax GRANULARITY 1
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', version)
ORDER BY (project_id, trace_id)
SETTINGS index_granularity = 1024, auto_statistics_types = '', enable_block_number_column = 1, enable_block_offset_column = 1, replicated_deduplication_window = 500, replicated_deduplication_window_seconds = 604800;
CREATE TABLE IF NOT EXISTS `colonnade`.`trace_rollup` ON CLUSTER `main` AS `colonnade`.`trace_rollup_local`
ENGINE = Distributed('main', 'colonnade', 'trace_rollup_local', cityHash64(trace_id));

-- Paths seen in attributes, for autocomplete and type resolution.
CREATE TABLE IF NOT EXISTS `colonnade`.`attribute_keys_local` ON CLUSTER `main`
(
    project_id UUID,
    path       String,
    type       Enum8('string' = 1, 'number' = 2, 'bool' = 3, 'long' = 4),
    sample     String,
    seen_at    DateTime64(6, 'UTC')
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', seen_at)
ORDER BY (project_id, path, type)
SETTINGS auto_statistics_types = '', enable_block_number_column = 1, enable_block_offset_column = 1, replicated_deduplication_window = 500, replicated_deduplication_window_seconds = 604800;
CREATE TABLE IF NOT EXISTS `colonnade`.`attribute_keys` ON CLUSTER `main` AS `colonnade`.`attribute_keys_local`
ENGINE = Distributed('main', 'colonnade', 'attribute_keys_local', cityHash64(project_id, path));

-- What was refused and why. raw is bounded; the whole record is in the dead topic.
CREATE TABLE IF NOT EXISTS `colonnade`.`rejects_local` ON CLUSTER `main`
(
    project_id       UUID,
    rejected_at      DateTime64(6, 'UTC'),
    source           LowCardinality(String),
    stage            LowCardinality(String),
    reason           String,
    trace_id         String,
    span_id          String,
    span_name        String,
    stream_partition UInt32,
    stream_offset    UInt64,
    raw              String CODEC(ZSTD(3))
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
PARTITION BY toMonday(rejected_at)
ORDER BY (project_id, rejected_at)
SETTINGS auto_statistics_types = '', enable_block_number_column = 1, enable_block_offset_column = 1, replicated_deduplication_window = 500, replicated_deduplication_window_seconds = 604800;
CREATE TABLE IF NOT EXISTS `colonnade`.`rejects` ON CLUSTER `main` AS `colonnade`.`rejects_local`
ENGINE = Distributed('main', 'colonnade', 'rejects_local', rand());

-- How far the sink is: a row for each batch that became visible. A read that
-- carries a token waits for next_offset to pass it. Traces touched before
-- settled_until are settled.
CREATE TABLE IF NOT EXISTS `colonnade`.`sink_progress_local` ON CLUSTER `main`
(
    topic            LowCardinality(String),
    stream_partition UInt32,
    next_offset      UInt64,
    settled_until    DateTime64(6, 'UTC'),
    written_at       DateTime64(6, 'UTC')
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', next_offset)
ORDER BY (topic, stream_partition)
SETTINGS auto_statistics_types = '', enable_block_number_column = 1, enable_block_offset_column = 1, replicated_deduplication_window = 500, replicated_deduplication_window_seconds = 604800;
CREATE TABLE IF NOT EXISTS `colonnade`.`sink_progress` ON CLUSTER `main` AS `colonnade`.`sink_progress_local`
ENGINE = Distributed('main', 'colonnade', 'sink_progress_local', cityHash64(topic, stream_partition));
-- one_tree tells that the trace is a single tree: one root, every parent stored,
-- no cycle. The totals are then just what the root's cumulative metrics sum, and
-- statistics over roots read them here. Rows from before this column say 0: such
-- traces are summed from their spans.
ALTER TABLE `colonnade`.`trace_rollup_local` ON CLUSTER `main` ADD COLUMN IF NOT EXISTS one_tree UInt8;
ALTER TABLE `colonnade`.`trace_rollup` ON CLUSTER `main` ADD COLUMN IF NOT EXISTS one_tree UInt8;
-- What was said about spans, in the two orders that it is asked for. A span has
-- rows here when it links to other spans, or when it is a root that declares
-- itself an annotation (one about nothing in particular). trace_type is that of
-- its whole trace, as in spans, and follows it: readers of annotations ask for
-- 'annotation'.
--
-- Rows are copies made to be read in one piece; spans and span_payloads hold the
-- same, and (start_time, tie, version) leads there. whole tells that outputs and
-- the three maps made of it are here; where it is false (a large output, a span
-- with many links) outputs is empty and the maps may be.
--
-- Keys of references are made by migrations/schema (EvaluatorKey, RevisionKey).
--
-- There are no partitions by time: rows are looked for by what they are about,
-- whenever they came, and each partition would be one more place to look.
--
-- Here: all that was said about one trace after the other, by evaluator. A row
-- for each link, counted by link_number; zero ids where there is none.
CREATE TABLE IF NOT EXISTS `colonnade`.`annotations_local` ON CLUSTER `main`
(
    project_id           UUID,
    link_trace_id        FixedString(16) CODEC(ZSTD(1)),
    evaluator_key        LowCardinality(String),
    start_time           DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    tie                  UInt64 CODEC(NONE),
    link_span_id         FixedString(8) CODEC(ZSTD(1)),
    link_number          UInt16 CODEC(ZSTD(1)),
    trace_type           Enum8('invocation' = 1, 'annotation' = 2, 'unknown' = 3),
    trace_id             FixedString(16) CODEC(NONE),
    span_id              FixedString(8) CODEC(NONE),
    version              UInt64 CODEC(Delta, ZSTD(1)),
    created_at           DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    updated_at           DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    created_by_id        UUID CODEC(ZSTD(1)),
    status_code          Enum8('STATUS_CODE_UNSET' = 0, 'STATUS_CODE_OK' = 1, 'STATUS_CODE_ERROR' = 2),
    origin               Enum8('custom' = 1, 'human' = 2, 'auto' = 3),
    kind                 Enum8('adhoc' = 1, 'eval' = 2, 'play' = 3),
    channel              Enum8('otlp' = 1, 'web' = 2, 'sdk' = 3, 'api' = 4),
    evaluator_id         UUID CODEC(ZSTD(1)),
    evaluator_slug       LowCardinality(String),
    evaluator_revision   LowCardinality(String),
    application_id       UUID CODEC(ZSTD(1)),
    application_slug     LowCardinality(String),
    application_revision LowCardinality(String),
    testset_revision     LowCardinality(String),
    testcase             String CODEC(ZSTD(1)),
    numbers              Map(LowCardinality(String), Float64) CODEC(ZSTD(1)),
    strings              Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    bools                Map(LowCardinality(String), Bool) CODEC(ZSTD(1)),
    outputs              String CODEC(ZSTD(1)),
    whole                Bool,
    INDEX trace_index trace_id TYPE bloom_filter(0.001) GRANULARITY 1
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', version)
ORDER BY (project_id, link_trace_id, evaluator_key, start_time, tie, link_span_id)
SETTINGS index_granularity = 1024, auto_statistics_types = '', enable_block_number_column = 1, enable_block_offset_column = 1, replicated_deduplication_window = 500, replicated_deduplication_window_seconds = 604800;
CREATE TABLE IF NOT EXISTS `colonnade`.`annotations` ON CLUSTER `main` AS `colonnade`.`annotations_local`
ENGINE = Distributed('main', 'colonnade', 'annotations_local', cityHash64(trace_id));

-- Here: all results of one evaluator, by what it judged. A row for each span
-- that names an evaluator; link_trace_id and link_span_id are its first link.
CREATE TABLE IF NOT EXISTS `colonnade`.`eval_results_local` ON CLUSTER `main`
(
    project_id           UUID,
    evaluator_key        LowCardinality(String),
    application_revision LowCardinality(String),
    testset_revision     LowCardinality(String),
    testcase             String CODEC(ZSTD(1)),
    start_time           DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    tie                  UInt64 CODEC(NONE),
    link_trace_id        FixedString(16) CODEC(NONE),
    link_span_id         FixedString(8) CODEC(NONE),
    trace_type           Enum8('invocation' = 1, 'annotation' = 2, 'unknown' = 3),
    trace_id             FixedString(16) CODEC(NONE),
    span_id              FixedString(8) CODEC(NONE),
    version              UInt64 CODEC(Delta, ZSTD(1)),
    created_at           DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    updated_at           DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    created_by_id        UUID CODEC(ZSTD(1)),
    status_code          Enum8('STATUS_CODE_UNSET' = 0, 'STATUS_CODE_OK' = 1, 'STATUS_CODE_ERROR' = 2),
    origin               Enum8('custom' = 1, 'human' = 2, 'auto' = 3),
    kind                 Enum8('adhoc' = 1, 'eval' = 2, 'play' = 3),
    channel              Enum8('otlp' = 1, 'web' = 2, 'sdk' = 3, 'api' = 4),
    evaluator_id         UUID CODEC(ZSTD(1)),
    evaluator_slug       LowCardinality(String),
    evaluator_revision   LowCardinality(String),
    application_id       UUID CODEC(ZSTD(1)),
    application_slug     LowCardinality(String),
    numbers              Map(LowCardinality(String), Float64) CODEC(ZSTD(1)),
    strings              Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    bools                Map(LowCardinality(String), Bool) CODEC(ZSTD(1)),
    outputs              String CODEC(ZSTD(1)),
    whole                Bool,
    INDEX trace_index trace_id TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX evaluator_index evaluator_id TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', version)
ORDER BY (project_id, evaluator_key, application_revision, testset_revision, testcase, start_time, tie)
SETTINGS index_granularity = 1024, auto_statistics_types = '', enable_block_number_column = 1, enable_block_offset_column = 1, replicated_deduplication_window = 500, replicated_deduplication_window_seconds = 604800;
CREATE TABLE IF NOT EXISTS `colonnade`.`eval_results` ON CLUSTER `main` AS `colonnade`.`eval_results_local`
ENGINE = Distributed('main', 'colonnade', 'eval_results_local', cityHash64(trace_id));

-- What was written before these tables were there; its outputs stay where they
-- are. Repeated, it makes equal rows, which replace each other.
INSERT INTO `colonnade`.`annotations`
    (project_id, link_trace_id, evaluator_key, start_time, tie, link_span_id, link_number, trace_type, trace_id, span_id, version, created_at, updated_at, created_by_id,
     status_code, origin, kind, channel, evaluator_id, evaluator_slug, evaluator_revision, application_id, application_slug, application_revision,
     testset_revision, testcase, numbers, strings, bools, whole)
WITH if(link_count > 0, arrayDistinct(arrayZip(link_trace_ids, link_span_ids)), [(toFixedString('', 16), toFixedString('', 8))]) AS links,
    if(evaluator_slug != '', evaluator_slug, lower(str['ag.references.evaluator.id'])) AS evaluator
SELECT project_id, link.1, evaluator, start_time, tie, link.2, number - 1, trace_type, trace_id, span_id, version, created_at, updated_at, created_by_id, status_code,
    multiIf(bool['ag.flags.is_feedback'], 'human', bool['ag.flags.is_custom'], 'custom', 'auto'),
    multiIf(bool['ag.flags.is_evaluation'], 'eval', str['colonnade.kind'] = 'play', 'play', 'adhoc'),
    multiIf(bool['ag.flags.is_sdk'], 'sdk', bool['ag.flags.is_web'], 'web', str['colonnade.channel'] = 'otlp', 'otlp', 'api'),
    evaluator_id, evaluator_slug,
    multiIf(str['ag.references.evaluator_revision.id'] != '', lower(str['ag.references.evaluator_revision.id']), str['ag.references.evaluator_revision.slug'] != '', str['ag.references.evaluator_revision.slug'], str['ag.references.evaluator_revision.version'] != '', concat(evaluator, '@', str['ag.references.evaluator_revision.version']), ''),
    application_id, application_slug,
    multiIf(str['ag.references.application_revision.id'] != '', lower(str['ag.references.application_revision.id']), str['ag.references.application_revision.slug'] != '', str['ag.references.application_revision.slug'], str['ag.references.application_revision.version'] != '', concat(if(application_slug != '', application_slug, lower(str['ag.references.application.id'])), '@', str['ag.references.application_revision.version']), ''),
    multiIf(str['ag.references.testset_revision.id'] != '', lower(str['ag.references.testset_revision.id']), str['ag.references.testset_revision.slug'] != '', str['ag.references.testset_revision.slug'], str['ag.references.testset_revision.version'] != '', concat(if(str['ag.references.testset.slug'] != '', str['ag.references.testset.slug'], lower(str['ag.references.testset.id'])), '@', str['ag.references.testset_revision.version']), ''),
    multiIf(str['ag.references.testcase.id'] != '', lower(str['ag.references.testcase.id']), str['ag.references.testcase.slug'] != '', str['ag.references.testcase.slug'], str['ag.references.testcase.version'] != '', concat('', '@', str['ag.references.testcase.version']), ''),
    mapApply((k, v) -> (substring(k, 17), v), mapFilter((k, v) -> k = 'ag.data.outputs' OR startsWith(k, 'ag.data.outputs.'), num)),
    mapApply((k, v) -> (substring(k, 17), v), mapFilter((k, v) -> k = 'ag.data.outputs' OR startsWith(k, 'ag.data.outputs.'), str)),
    mapApply((k, v) -> (substring(k, 17), v), mapFilter((k, v) -> k = 'ag.data.outputs' OR startsWith(k, 'ag.data.outputs.'), bool)),
    false
FROM `colonnade`.`spans`
ARRAY JOIN links AS link, arrayEnumerate(links) AS number
WHERE link_count > 0 OR (parent_id = toFixedString('', 8) AND trace_type_declared = 'annotation');

INSERT INTO `colonnade`.`eval_results`
    (project_id, evaluator_key, application_revision, testset_revision, testcase, start_time, tie, link_trace_id, link_span_id, trace_type, trace_id, span_id, version, created_at, updated_at,
     created_by_id, status_code, origin, kind, channel, evaluator_id, evaluator_slug, evaluator_revision, application_id, application_slug, numbers, strings, bools, whole)
SELECT project_id, evaluator_key, application_revision, testset_revision, testcase, start_time, tie, link_trace_id, link_span_id, trace_type, trace_id, span_id, version, created_at, updated_at,
    created_by_id, status_code, origin, kind, channel, evaluator_id, evaluator_slug, evaluator_revision, application_id, application_slug, numbers, strings, bools, false
FROM `colonnade`.`annotations`
WHERE evaluator_key != '' AND link_number = 0 AND NOT whole;
-- What a trace's spans declare and whether one has links, once more, as the
-- settler found it: (next offset of the stream << 4) | 8 | declared << 1 | linked.
-- The aggregates beside it only ever grow; an edit may take away what they say.
-- Of two the later says it, and what is written at or after its offset adds to it.
--
-- first_version is the lowest version that was written of a trace: who has seen
-- that one has seen all of it. Rows from before this column say 0.
ALTER TABLE `colonnade`.`trace_index_local` ON CLUSTER `main` ADD COLUMN IF NOT EXISTS settled_flags SimpleAggregateFunction(max, UInt64);
ALTER TABLE `colonnade`.`trace_index` ON CLUSTER `main` ADD COLUMN IF NOT EXISTS settled_flags SimpleAggregateFunction(max, UInt64);
ALTER TABLE `colonnade`.`trace_index_local` ON CLUSTER `main` ADD COLUMN IF NOT EXISTS first_version SimpleAggregateFunction(min, UInt64);
ALTER TABLE `colonnade`.`trace_index` ON CLUSTER `main` ADD COLUMN IF NOT EXISTS first_version SimpleAggregateFunction(min, UInt64);
-- What the spans of settled traces sum over all below them (contract §1.6), in
-- the order of spans and under the same key: a filter on a cumulative metric
-- reads the stretch here that it reads there. A span of which no row is here
-- sums what is its own; 0 is "nothing to sum".
--
-- Which rows hold: those of traces that nothing was written to since they were
-- settled. Spans from before this table may have none; their created_at is below
-- the applied_at of this file.
CREATE TABLE IF NOT EXISTS `colonnade`.`span_sums_local` ON CLUSTER `main`
(
    project_id        UUID,
    trace_type        Enum8('invocation' = 1, 'annotation' = 2, 'unknown' = 3),
    start_time        DateTime64(6, 'UTC') CODEC(DoubleDelta, ZSTD(1)),
    tie               UInt64 CODEC(NONE),
    week              Date CODEC(ZSTD(1)),
    trace_id          FixedString(16) CODEC(NONE),
    span_id           FixedString(8) CODEC(NONE),
    version           UInt64 CODEC(Delta, ZSTD(1)),
    errors            Float64 CODEC(ZSTD(1)),
    tokens_prompt     Float64 CODEC(ZSTD(1)),
    tokens_completion Float64 CODEC(ZSTD(1)),
    tokens_total      Float64 CODEC(ZSTD(1)),
    costs_prompt      Float64 CODEC(ZSTD(1)),
    costs_completion  Float64 CODEC(ZSTD(1)),
    costs_total       Float64 CODEC(ZSTD(1))
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', version)
PARTITION BY week
ORDER BY (project_id, trace_type, start_time, tie)
SETTINGS index_granularity = 1024, merge_selector_base = 8, auto_statistics_types = '', enable_block_number_column = 1, enable_block_offset_column = 1, replicated_deduplication_window = 500, replicated_deduplication_window_seconds = 604800;
CREATE TABLE IF NOT EXISTS `colonnade`.`span_sums` ON CLUSTER `main` AS `colonnade`.`span_sums_local`
ENGINE = Distributed('main', 'colonnade', 'span_sums_local', cityHash64(trace_id));
-- What the roots of traces that start in a minute measure, so that statistics
-- over days read minutes in place of spans. A row for each minute and type that
-- ever held a span; it replaces the one before it whole.
--
-- The values themselves are kept, not sums: every statistic made of them equals
-- that made of the spans. Each is what readers see in ag.metrics.<path> of a
-- root; absent values are absent. span_types counts the declared ones.
--
-- version v, in microseconds, says: all that was touched (trace_index.touched_at)
-- before v is in here. The row of the zero project says so of all minutes at
-- once, those without rows too. A minute serves readers unless a trace that
-- reaches into it was touched at or after that; unless its last row is stale
-- (spans were removed); and unless undecided counts a root whose row in spans
-- does not tell what readers see.
CREATE TABLE IF NOT EXISTS `colonnade`.`rollup_minute_local` ON CLUSTER `main`
(
    project_id        UUID,
    minute            DateTime('UTC') CODEC(DoubleDelta, ZSTD(1)),
    trace_type        Enum8('invocation' = 1, 'annotation' = 2, 'unknown' = 3),
    version           UInt64 CODEC(Delta, ZSTD(1)),
    stale             Bool,
    undecided         UInt64 CODEC(ZSTD(1)),
    roots             UInt64 CODEC(ZSTD(1)),
    duration          Array(Float64) CODEC(ZSTD(1)),
    errors            Array(Float64) CODEC(ZSTD(1)),
    tokens_prompt     Array(Float64) CODEC(ZSTD(1)),
    tokens_completion Array(Float64) CODEC(ZSTD(1)),
    tokens_total      Array(Float64) CODEC(ZSTD(1)),
    costs_prompt      Array(Float64) CODEC(ZSTD(1)),
    costs_completion  Array(Float64) CODEC(ZSTD(1)),
    costs_total       Array(Float64) CODEC(ZSTD(1)),
    span_types        Map(LowCardinality(String), UInt64) CODEC(ZSTD(1)),
    INDEX version_index version TYPE minmax GRANULARITY 1
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', version)
ORDER BY (project_id, minute, trace_type)
SETTINGS index_granularity = 1024, auto_statistics_types = '', enable_block_number_column = 1, enable_block_offset_column = 1, replicated_deduplication_window = 500, replicated_deduplication_window_seconds = 604800;
CREATE TABLE IF NOT EXISTS `colonnade`.`rollup_minute` ON CLUSTER `main` AS `colonnade`.`rollup_minute_local`
ENGINE = Distributed('main', 'colonnade', 'rollup_minute_local', cityHash64(project_id));
-- eval_results has a row for every root that names an evaluator, also for one
-- without links that does not say itself that it is an annotation: what names an
-- evaluator is all there, whatever type its trace has or gets. Such a row copies
-- no outputs (whole is false). names_evaluator tells that a trace has, or had,
-- such a root, as is_annotation does for links: whoever removes or replaces its
-- spans looks for rows of it.
ALTER TABLE `colonnade`.`trace_index_local` ON CLUSTER `main` ADD COLUMN IF NOT EXISTS names_evaluator SimpleAggregateFunction(max, UInt8);
ALTER TABLE `colonnade`.`trace_index` ON CLUSTER `main` ADD COLUMN IF NOT EXISTS names_evaluator SimpleAggregateFunction(max, UInt8);

-- What was written before, as in 0003_annotations.sql. The index comes first: a
-- row that it does not tell of would be left behind.
INSERT INTO `colonnade`.`trace_index`
    (project_id, trace_id, min_start, max_start, max_end, min_week, max_week, created_at, last_version, stream_partition, first_version, names_evaluator)
SELECT project_id, trace_id, min(start_time), max(start_time), max(end_time), min(week), max(week), min(created_at), max(version), any(stream_partition), min(version), 1
FROM `colonnade`.`spans`
WHERE parent_id = toFixedString('', 8) AND (evaluator_slug != '' OR evaluator_id != toUUID('00000000-0000-0000-0000-000000000000'))
GROUP BY project_id, trace_id;

INSERT INTO `colonnade`.`eval_results`
    (project_id, evaluator_key, application_revision, testset_revision, testcase, start_time, tie, link_trace_id, link_span_id, trace_type, trace_id, span_id, version, created_at, updated_at,
     created_by_id, status_code, origin, kind, channel, evaluator_id, evaluator_slug, evaluator_revision, application_id, application_slug, whole)
WITH if(evaluator_slug != '', evaluator_slug, lower(str['ag.references.evaluator.id'])) AS evaluator
SELECT project_id, evaluator,
    multiIf(str['ag.references.application_revision.id'] != '', lower(str['ag.references.application_revision.id']), str['ag.references.application_revision.slug'] != '', str['ag.references.application_revision.slug'], str['ag.references.application_revision.version'] != '', concat(if(application_slug != '', application_slug, lower(str['ag.references.application.id'])), '@', str['ag.references.application_revision.version']), ''),
    multiIf(str['ag.references.testset_revision.id'] != '', lower(str['ag.references.testset_revision.id']), str['ag.references.testset_revision.slug'] != '', str['ag.references.testset_revision.slug'], str['ag.references.testset_revision.version'] != '', concat(if(str['ag.references.testset.slug'] != '', str['ag.references.testset.slug'], lower(str['ag.references.testset.id'])), '@', str['ag.references.testset_revision.version']), ''),
    multiIf(str['ag.references.testcase.id'] != '', lower(str['ag.references.testcase.id']), str['ag.references.testcase.slug'] != '', str['ag.references.testcase.slug'], str['ag.references.testcase.version'] != '', concat('', '@', str['ag.references.testcase.version']), ''),
    start_time, tie, toFixedString('', 16), toFixedString('', 8), trace_type, trace_id, span_id, version, created_at, updated_at, created_by_id, status_code,
    multiIf(bool['ag.flags.is_feedback'], 'human', bool['ag.flags.is_custom'], 'custom', 'auto'),
    multiIf(bool['ag.flags.is_evaluation'], 'eval', str['colonnade.kind'] = 'play', 'play', 'adhoc'),
    multiIf(bool['ag.flags.is_sdk'], 'sdk', bool['ag.flags.is_web'], 'web', str['colonnade.channel'] = 'otlp', 'otlp', 'api'),
    evaluator_id, evaluator_slug,
    multiIf(str['ag.references.evaluator_revision.id'] != '', lower(str['ag.references.evaluator_revision.id']), str['ag.references.evaluator_revision.slug'] != '', str['ag.references.evaluator_revision.slug'], str['ag.references.evaluator_revision.version'] != '', concat(evaluator, '@', str['ag.references.evaluator_revision.version']), ''),
    application_id, application_slug, false
FROM `colonnade`.`spans`
WHERE parent_id = toFixedString('', 8) AND (evaluator_slug != '' OR evaluator_id != toUUID('00000000-0000-0000-0000-000000000000'))
    AND link_count = 0 AND trace_type_declared != 'annotation';
-- A row of the wide tables is merged fewer times: parts wait for more of their
-- size. At 14 000 spans a second that was two fifths fewer bytes merged and a
-- tenth to a sixth less of the store's processor time, for 33 parts of
-- span_payloads in place of 26. The narrow tables are written with every batch;
-- a merge of them costs more than the few rows that it joins.
ALTER TABLE `colonnade`.`spans_local` ON CLUSTER `main` MODIFY SETTING merge_selector_base = 30;
ALTER TABLE `colonnade`.`span_payloads_local` ON CLUSTER `main` MODIFY SETTING merge_selector_base = 30;
ALTER TABLE `colonnade`.`span_sums_local` ON CLUSTER `main` MODIFY SETTING merge_selector_base = 15;
ALTER TABLE `colonnade`.`trace_rollup_local` ON CLUSTER `main` MODIFY SETTING merge_selector_base = 10;
ALTER TABLE `colonnade`.`trace_index_local` ON CLUSTER `main` MODIFY SETTING merge_selector_base = 10;
ALTER TABLE `colonnade`.`annotations_local` ON CLUSTER `main` MODIFY SETTING merge_selector_base = 10;
ALTER TABLE `colonnade`.`eval_results_local` ON CLUSTER `main` MODIFY SETTING merge_selector_base = 10;
-- The key has the type before the start, so that by the key alone every part of
-- the week may hold every start: where one type ends and the next begins, and at
-- its last granule. A page of what is new opened them all, and more than a page
-- may read was refused (read/traces). With the first and last start of each
-- stretch it opens those in question. A granule of span_payloads is 64 rows; one
-- entry is for as many as one of spans.
ALTER TABLE `colonnade`.`spans_local` ON CLUSTER `main` ADD INDEX IF NOT EXISTS start_index start_time TYPE minmax GRANULARITY 1;
ALTER TABLE `colonnade`.`spans_local` ON CLUSTER `main` MATERIALIZE INDEX start_index;
ALTER TABLE `colonnade`.`span_payloads_local` ON CLUSTER `main` ADD INDEX IF NOT EXISTS start_index start_time TYPE minmax GRANULARITY 128;
ALTER TABLE `colonnade`.`span_payloads_local` ON CLUSTER `main` MATERIALIZE INDEX start_index;
-- A row of span_payloads is read with all that is compressed together with it.
-- Blocks of a column end with a granule once they are this long: of 64 KiB, the
-- default, most held the rows of several granules, of which a page wants one. A
-- trace whose spans lie far apart costs two fifths less to read, documents take
-- 5 to 7 % more disk. Parts that are there change when they are merged.
ALTER TABLE `colonnade`.`span_payloads_local` ON CLUSTER `main` MODIFY SETTING min_compress_block_size = 16384;
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
CREATE TABLE IF NOT EXISTS `colonnade`.`span_documents_local` ON CLUSTER `main`
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
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
PARTITION BY week
PRIMARY KEY (project_id, stream_partition, stream_offset)
ORDER BY (project_id, stream_partition, stream_offset, version, trace_id, span_id)
SETTINGS index_granularity = 32, index_granularity_bytes = 131072, min_compress_block_size = 16384, merge_selector_base = 30, auto_statistics_types = '', enable_block_number_column = 1, enable_block_offset_column = 1, replicated_deduplication_window = 500, replicated_deduplication_window_seconds = 604800;
CREATE TABLE IF NOT EXISTS `colonnade`.`span_documents` ON CLUSTER `main` AS `colonnade`.`span_documents_local`
ENGINE = Distributed('main', 'colonnade', 'span_documents_local', cityHash64(trace_id));

-- The records in which spans of a trace came, each partition << 44 | offset: where
-- its documents are. Records that hold nothing of it any more harm nobody.
ALTER TABLE `colonnade`.`trace_index_local` ON CLUSTER `main` ADD COLUMN IF NOT EXISTS records SimpleAggregateFunction(groupUniqArrayArray, Array(UInt64));
ALTER TABLE `colonnade`.`trace_index` ON CLUSTER `main` ADD COLUMN IF NOT EXISTS records SimpleAggregateFunction(groupUniqArrayArray, Array(UInt64));

-- What was written before. The table changes its name first, so that a sink of
-- an earlier version stops there, and does not write to what is left behind.
-- Repeated, all of this makes equal rows, which replace each other.
RENAME TABLE IF EXISTS `colonnade`.`span_payloads_local` TO `colonnade`.`span_payloads_before_local` ON CLUSTER `main`;
CREATE TABLE IF NOT EXISTS `colonnade`.`span_payloads_before` ON CLUSTER `main` AS `colonnade`.`span_payloads_before_local`
ENGINE = Distributed('main', 'colonnade', 'span_payloads_before_local', cityHash64(trace_id));

INSERT INTO `colonnade`.`span_documents` (project_id, stream_partition, stream_offset, version, week, start_time, trace_id, span_id, text, head, lengths)
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
FROM `colonnade`.`span_payloads_before` AS p
INNER JOIN `colonnade`.`spans` AS s ON p.project_id = s.project_id AND p.trace_type = s.trace_type AND p.start_time = s.start_time AND p.tie = s.tie
WHERE p.version = s.version
SETTINGS join_algorithm = 'full_sorting_merge', max_threads = 1, max_insert_threads = 1, max_block_size = 1024, min_insert_block_size_rows = 50000, min_insert_block_size_bytes = 100000000, distributed_product_mode = 'local';

INSERT INTO `colonnade`.`trace_index`
    (project_id, trace_id, min_start, max_start, max_end, min_week, max_week, created_at, last_version, stream_partition, first_version, records)
SELECT project_id, trace_id, min(start_time), max(start_time), max(end_time), min(week), max(week), min(created_at), max(version), any(stream_partition), min(version),
    groupUniqArray(bitOr(bitShiftLeft(toUInt64(stream_partition), 44), bitShiftRight(version, 20)))
FROM `colonnade`.`spans`
GROUP BY project_id, trace_id
SETTINGS max_bytes_before_external_group_by = 500000000, max_bytes_ratio_before_external_group_by = 0;
-- What 0011 has copied. By itself, because a file that stopped in the middle
-- runs again whole.
DROP TABLE IF EXISTS `colonnade`.`span_payloads_before_local` ON CLUSTER `main` SYNC;
DROP TABLE IF EXISTS `colonnade`.`span_payloads_before` ON CLUSTER `main` SYNC;
DROP TABLE IF EXISTS `colonnade`.`span_payloads` ON CLUSTER `main` SYNC;
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
CREATE TABLE IF NOT EXISTS `colonnade`.`span_ngrams_local` ON CLUSTER `main`
(
    project_id       UUID,
    stream_partition UInt32,
    section          UInt64 CODEC(Delta, ZSTD(1)),
    min_start        SimpleAggregateFunction(min, DateTime64(6, 'UTC')),
    max_start        SimpleAggregateFunction(max, DateTime64(6, 'UTC')),
    ngrams           AggregateFunction(groupBitmap, UInt32)
)
ENGINE = ReplicatedAggregatingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
ORDER BY (project_id, stream_partition, section)
SETTINGS index_granularity = 8, merge_selector_base = 10, auto_statistics_types = '', enable_block_number_column = 1, enable_block_offset_column = 1, replicated_deduplication_window = 500, replicated_deduplication_window_seconds = 604800;
CREATE TABLE IF NOT EXISTS `colonnade`.`span_ngrams` ON CLUSTER `main` AS `colonnade`.`span_ngrams_local`
ENGINE = Distributed('main', 'colonnade', 'span_ngrams_local', cityHash64(project_id, stream_partition, section));

-- From which offset on span_ngrams has all documents of the partition. A sink of an
-- earlier version leaves it at the default: nothing is covered.
ALTER TABLE `colonnade`.`sink_progress_local` ON CLUSTER `main` ADD COLUMN IF NOT EXISTS ngrams_from UInt64 DEFAULT 18446744073709551615;
ALTER TABLE `colonnade`.`sink_progress` ON CLUSTER `main` ADD COLUMN IF NOT EXISTS ngrams_from UInt64 DEFAULT 18446744073709551615;
-- The texts of documents were ALIAS columns, for people. Each statement that reads
-- the table analyses the nine and plans for them, used or not: 2 ms of processor
-- time, of the 7 that the documents of a trace take. Readers and writers name the
-- expressions of those they want (schema.DocumentText); people have a view. Rows
-- stay as they are.
--
-- A process of an earlier build fails in searches of content and edits of spans
-- from here on, with an error, until it is replaced; it stores and lists as before.
ALTER TABLE `colonnade`.`span_documents_local` ON CLUSTER `main` DROP COLUMN IF EXISTS inputs, DROP COLUMN IF EXISTS outputs, DROP COLUMN IF EXISTS parameters, DROP COLUMN IF EXISTS internals, DROP COLUMN IF EXISTS events, DROP COLUMN IF EXISTS attributes, DROP COLUMN IF EXISTS links, DROP COLUMN IF EXISTS resource, DROP COLUMN IF EXISTS scope;
ALTER TABLE `colonnade`.`span_documents` ON CLUSTER `main` DROP COLUMN IF EXISTS inputs, DROP COLUMN IF EXISTS outputs, DROP COLUMN IF EXISTS parameters, DROP COLUMN IF EXISTS internals, DROP COLUMN IF EXISTS events, DROP COLUMN IF EXISTS attributes, DROP COLUMN IF EXISTS links, DROP COLUMN IF EXISTS resource, DROP COLUMN IF EXISTS scope;

-- With rows of versions that were replaced, as the table has them: those of spans
-- are (project_id, stream_partition, version, span_id) of the table spans.
CREATE VIEW IF NOT EXISTS `colonnade`.`span_texts` ON CLUSTER `main` AS
SELECT project_id, stream_partition, stream_offset, version, week, start_time, trace_id, span_id,
    substring(text, 1, reinterpretAsUInt32(substring(lengths, 1, 4))) AS inputs,
    substring(text, 1 + reinterpretAsUInt32(substring(lengths, 1, 4)), reinterpretAsUInt32(substring(lengths, 5, 4))) AS outputs,
    substring(text, 1 + reinterpretAsUInt32(substring(lengths, 1, 4)) + reinterpretAsUInt32(substring(lengths, 5, 4)), reinterpretAsUInt32(substring(lengths, 9, 4))) AS parameters,
    substring(text, 1 + reinterpretAsUInt32(substring(lengths, 1, 4)) + reinterpretAsUInt32(substring(lengths, 5, 4)) + reinterpretAsUInt32(substring(lengths, 9, 4)), reinterpretAsUInt32(substring(lengths, 13, 4))) AS internals,
    substring(text, 1 + reinterpretAsUInt32(substring(lengths, 1, 4)) + reinterpretAsUInt32(substring(lengths, 5, 4)) + reinterpretAsUInt32(substring(lengths, 9, 4)) + reinterpretAsUInt32(substring(lengths, 13, 4)), reinterpretAsUInt32(substring(lengths, 17, 4))) AS events,
    substring(text, 1 + reinterpretAsUInt32(substring(lengths, 1, 4)) + reinterpretAsUInt32(substring(lengths, 5, 4)) + reinterpretAsUInt32(substring(lengths, 9, 4)) + reinterpretAsUInt32(substring(lengths, 13, 4)) + reinterpretAsUInt32(substring(lengths, 17, 4)), reinterpretAsUInt32(substring(lengths, 21, 4))) AS attributes,
    substring(head, 1, reinterpretAsUInt32(substring(lengths, 25, 4))) AS links,
    substring(head, 1 + reinterpretAsUInt32(substring(lengths, 25, 4)), reinterpretAsUInt32(substring(lengths, 29, 4))) AS resource,
    substring(head, 1 + reinterpretAsUInt32(substring(lengths, 25, 4)) + reinterpretAsUInt32(substring(lengths, 29, 4)), reinterpretAsUInt32(substring(lengths, 33, 4))) AS scope
FROM `colonnade`.`span_documents`;
-- Numerals (domain/ngram) beside the n-grams: digits, and what stands before them.
-- All five digits, and each digit after the ends of a few words, are soon somewhere
-- in a section of 18 000 spans, so a search for a word with a number read all of them.
--
-- A row has the numerals of its texts, or has_numerals is 0: it is of a sink of an
-- earlier build, or merged with one. Such rows are searched as before.
ALTER TABLE `colonnade`.`span_ngrams_local` ON CLUSTER `main` ADD COLUMN IF NOT EXISTS numerals AggregateFunction(groupBitmap, UInt32), ADD COLUMN IF NOT EXISTS has_numerals SimpleAggregateFunction(min, UInt8);
ALTER TABLE `colonnade`.`span_ngrams` ON CLUSTER `main` ADD COLUMN IF NOT EXISTS numerals AggregateFunction(groupBitmap, UInt32), ADD COLUMN IF NOT EXISTS has_numerals SimpleAggregateFunction(min, UInt8);
-- A trace is anywhere between the first and the last id of every part, so that a
-- lookup of one read a stretch of each part to find it in one or two. By the filter
-- it reads those: fifty traces of a page took 12 ms, and take 7. One trace in a
-- thousand that is not there is read in vain; with one in a hundred a page of fifty
-- read two stretches of five so.
ALTER TABLE `colonnade`.`trace_index_local` ON CLUSTER `main` ADD INDEX IF NOT EXISTS trace_filter trace_id TYPE bloom_filter(0.001) GRANULARITY 1;
ALTER TABLE `colonnade`.`trace_index_local` ON CLUSTER `main` MATERIALIZE INDEX trace_filter;
-- What a page of any moment asks for lies in as many places as it has traces, and
-- each place is read with all that is compressed together with it. A lookup in
-- trace_index wants one granule of the eight that a block held; one in
-- span_documents wants one of 32 of the ids and of two of the heads. Where fifty
-- traces lie took 12.6 ms and takes 8.2, their documents 14.6 and 12.6, for 5 % more
-- of the one and 3 % more of the other on disk. The texts of a granule are longer
-- than a block: they stay as they are. Parts that are there change when they are
-- merged.
ALTER TABLE `colonnade`.`trace_index_local` ON CLUSTER `main` MODIFY SETTING min_compress_block_size = 4096;
ALTER TABLE `colonnade`.`span_documents_local` ON CLUSTER `main` MODIFY SETTING min_compress_block_size = 2048;
-- The least and the greatest of a column in each part, in memory: what a part
-- cannot hold is out before its primary key, its indexes or its files are looked
-- at, and each that is not costs a statement 0.1 ms and a turn of a thread. A page
-- of 25 parts took a fifth more of the processor, one of 400 eight times as much.
-- The sink has them written with each insert, and merges keep them; what is
-- there already gets them when it is merged. ClickHouse 26.4 and later read them,
-- earlier ones carry them in vain, and do not know 'basic', which is to follow
-- 'minmax'.
ALTER TABLE `colonnade`.`spans_local` ON CLUSTER `main` ADD STATISTICS IF NOT EXISTS start_time TYPE minmax;
ALTER TABLE `colonnade`.`span_documents_local` ON CLUSTER `main` ADD STATISTICS IF NOT EXISTS stream_offset TYPE minmax;
-- Parts that were merged away go in sweeps, of a hundred and more once sinks have
-- written for a minute. ClickHouse removes so many at once with 128 threads, which
-- leave a machine of two cores nothing else to do: every page waited 0.1 to 0.5 s,
-- once or twice a minute beside 2 500 spans a second. One after the other they take
-- a thread, and no page longer. More than 10 000 at once go as before.
ALTER TABLE `colonnade`.`spans_local` ON CLUSTER `main` MODIFY SETTING concurrent_part_removal_threshold = 10000;
ALTER TABLE `colonnade`.`span_documents_local` ON CLUSTER `main` MODIFY SETTING concurrent_part_removal_threshold = 10000;
ALTER TABLE `colonnade`.`span_ngrams_local` ON CLUSTER `main` MODIFY SETTING concurrent_part_removal_threshold = 10000;
ALTER TABLE `colonnade`.`span_sums_local` ON CLUSTER `main` MODIFY SETTING concurrent_part_removal_threshold = 10000;
ALTER TABLE `colonnade`.`trace_index_local` ON CLUSTER `main` MODIFY SETTING concurrent_part_removal_threshold = 10000;
ALTER TABLE `colonnade`.`trace_rollup_local` ON CLUSTER `main` MODIFY SETTING concurrent_part_removal_threshold = 10000;
ALTER TABLE `colonnade`.`rollup_minute_local` ON CLUSTER `main` MODIFY SETTING concurrent_part_removal_threshold = 10000;
ALTER TABLE `colonnade`.`annotations_local` ON CLUSTER `main` MODIFY SETTING concurrent_part_removal_threshold = 10000;
ALTER TABLE `colonnade`.`eval_results_local` ON CLUSTER `main` MODIFY SETTING concurrent_part_removal_threshold = 10000;
ALTER TABLE `colonnade`.`attribute_keys_local` ON CLUSTER `main` MODIFY SETTING concurrent_part_removal_threshold = 10000;
ALTER TABLE `colonnade`.`sink_progress_local` ON CLUSTER `main` MODIFY SETTING concurrent_part_removal_threshold = 10000;
ALTER TABLE `colonnade`.`rejects_local` ON CLUSTER `main` MODIFY SETTING concurrent_part_removal_threshold = 10000;
-- Texts whose values are few, of models, providers, roles: once more beside str,
-- which has all of a span that are not too long for it, so that a condition on one of
-- them reads 2 bytes a row and not 54. The statement for a page of a model's calls in
-- a busy minute took the processor 16 ms, and takes 10. Which paths they are
-- schema.Label says; the default says the same, for rows that came without the column.
--
-- Rows that are there get it in the background, 600 000 or more of them a second: no
-- start and no edit waits for it. Until then it is made of str when it is read, which
-- takes half as long again as reading str alone.
ALTER TABLE `colonnade`.`spans_local` ON CLUSTER `main` ADD COLUMN IF NOT EXISTS label Map(LowCardinality(String), LowCardinality(String)) DEFAULT mapFilter((k, v) -> match(k, '^(([0-9]*[^0-9.][^.]*)?[.])*(system|provider|model|kind|role|type|format|finish_reasons|name|language|version|streaming|mime_type)([.][0-9]+)*$'), str);
ALTER TABLE `colonnade`.`spans` ON CLUSTER `main` ADD COLUMN IF NOT EXISTS label Map(LowCardinality(String), LowCardinality(String)) DEFAULT mapFilter((k, v) -> match(k, '^(([0-9]*[^0-9.][^.]*)?[.])*(system|provider|model|kind|role|type|format|finish_reasons|name|language|version|streaming|mime_type)([.][0-9]+)*$'), str);
ALTER TABLE `colonnade`.`spans_local` ON CLUSTER `main` MATERIALIZE COLUMN label SETTINGS mutations_sync = 0;
-- Which numbers, booleans and texts of few kinds occur in a granule at all: their
-- keys, those of what no map holds, the texts of label, and names of spans, agents,
-- services and events. Scores are in annotations, and a page of low scores read every
-- call beside them; what no span has looked at all spans. The expression is
-- schema.Leaves.
--
-- Rows that are there get it in the background, as label does (0020); until then they
-- are read as before.
ALTER TABLE `colonnade`.`spans_local` ON CLUSTER `main` ADD INDEX IF NOT EXISTS leaf_index arrayConcat(mapKeys(num), mapKeys(bool), long, mapValues(label), event_names, [span_name, agent_id, service]) TYPE bloom_filter(0.01) GRANULARITY 1;
ALTER TABLE `colonnade`.`spans_local` ON CLUSTER `main` MATERIALIZE INDEX leaf_index SETTINGS mutations_sync = 0;
-- How far the sink was at any moment of the last day or two: a row for each of
-- sink_progress, which keeps the last alone. A list of traces that is walked page by
-- page is that of one moment, which its cursor names, and this tells which rows
-- readers saw then. What was received then says nothing of it: it may have been on
-- its way for long.
--
-- at is the store's own clock when the row comes in, after all before next_offset is
-- there: later rows never say anything of an earlier moment.
CREATE TABLE IF NOT EXISTS `colonnade`.`sink_history_local` ON CLUSTER `main`
(
    topic            LowCardinality(String),
    stream_partition UInt32,
    at               DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    next_offset      UInt64 CODEC(Delta, ZSTD(1))
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
PARTITION BY toDate(at)
ORDER BY (topic, stream_partition, at)
TTL toDateTime(at) + INTERVAL 1 DAY
SETTINGS ttl_only_drop_parts = 1, concurrent_part_removal_threshold = 10000, auto_statistics_types = '', enable_block_number_column = 1, enable_block_offset_column = 1, replicated_deduplication_window = 500, replicated_deduplication_window_seconds = 604800;
CREATE TABLE IF NOT EXISTS `colonnade`.`sink_history` ON CLUSTER `main` AS `colonnade`.`sink_history_local`
ENGINE = Distributed('main', 'colonnade', 'sink_history_local', cityHash64(topic, stream_partition));

CREATE MATERIALIZED VIEW IF NOT EXISTS `colonnade`.`sink_history_view_local` ON CLUSTER `main` TO `colonnade`.`sink_history_local` AS
SELECT topic, stream_partition, now64(3, 'UTC') AS at, next_offset FROM `colonnade`.`sink_progress_local`;
-- What was edited or deleted, and when that was received: a row for each trace, or
-- with a span_id for each span of a delete that names some. A record that comes back
-- from the dead topic is of the moment in which it was received, and its offset is of
-- now: without this it would bring back what was deleted since. A span that an edit
-- names needs no row here, its new version says when it came.
--
-- Equal rows are of one removal, which was done again.
CREATE TABLE IF NOT EXISTS `colonnade`.`tombstones_local` ON CLUSTER `main`
(
    project_id       UUID,
    trace_id         FixedString(16),
    span_id          FixedString(8) COMMENT 'zero bytes mean all spans of the trace',
    received_at      DateTime64(6, 'UTC'),
    stream_partition UInt32,
    stream_offset    UInt64
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
PARTITION BY toStartOfMonth(received_at)
ORDER BY (project_id, trace_id, span_id, received_at, stream_partition, stream_offset)
TTL toDateTime(received_at) + INTERVAL 180 DAY
SETTINGS ttl_only_drop_parts = 1, concurrent_part_removal_threshold = 10000, auto_statistics_types = '', enable_block_number_column = 1, enable_block_offset_column = 1, replicated_deduplication_window = 500, replicated_deduplication_window_seconds = 604800;
CREATE TABLE IF NOT EXISTS `colonnade`.`tombstones` ON CLUSTER `main` AS `colonnade`.`tombstones_local`
ENGINE = Distributed('main', 'colonnade', 'tombstones_local', cityHash64(trace_id));
