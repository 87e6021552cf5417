-- volume
SELECT intDiv(toUnixTimestamp64Micro(start_time) - ?, ?) AS step, count()
 FROM spans WHERE project_id = ?
  AND trace_type IN (?, ?)
  AND (start_time >= '2026-03-04 00:00:00.000000'
  AND start_time <= '2026-03-10 23:59:59.999999')
  AND indexHint(partition_week IN (?, ?, ?))
 GROUP BY step ORDER BY step
int64 1772582400000000
int64 1000000
string 01890a5d-ac96-774b-bcce-b302099a8057
string invocation
string annotation
string 1970-01-01
string 2026-03-02
string 2026-03-09
-- what a root sums
SELECT bucket, countIf(sure), groupArrayIf(11)(concat(trace_id, span_id, char(sure, m0_open), reinterpretAsFixedString(toFloat64(m0_sent))), NOT sure OR m0_open > 0), arrayStringConcat(groupArrayIf(concat(reinterpretAsFixedString(toFloat64(m0_value)), ''), sure
  AND m0_have
  AND m0_open = 0))
 FROM (SELECT intDiv(toUnixTimestamp64Micro(start_time) - ?, ?) AS bucket, trace_id, span_id,
  toUInt8(session_id = ?) AS sure,
  toUInt8(((is_settled = 1
  AND NOT isNaN(total_tokens_total)
  AND total_tokens_total != 0) OR mapContains(attributes_number, ?))) AS m0_have, if(is_settled = 1
  AND NOT isNaN(total_tokens_total)
  AND total_tokens_total != 0, total_tokens_total, attributes_number[?]) AS m0_value,
  toUInt8(multiIf(has(attributes_unindexed, ?), 2, is_settled = 0, 1, 0)) AS m0_open, if(mapContains(attributes_number, ?), attributes_number[?], nan) AS m0_sent
 FROM (SELECT *
 FROM spans FINAL WHERE project_id = ?
  AND trace_type IN (?, ?)
  AND (start_time >= '2026-03-04 00:00:00.000000'
  AND start_time <= '2026-03-10 23:59:59.999999')
  AND indexHint(partition_week IN (?, ?, ?))
  AND (has(search_terms, ?)
  AND is_root
  AND xxHash64(trace_id) < ?)) AS chosen
 LEFT ANY JOIN (SELECT of_trace, 1 AS is_settled, t.2 AS total_errors, t.3 AS total_tokens_prompt, t.4 AS total_tokens_completion, t.5 AS total_tokens_total, t.6 AS total_costs_prompt, t.7 AS total_costs_completion, t.8 AS total_costs_total
 FROM (SELECT trace_id AS of_trace, max(version) AS settled_version, argMax(tuple(one_tree, errors, tokens_prompt, tokens_completion, tokens_total, costs_prompt, costs_completion, costs_total), (version, finalized_at)) AS t
 FROM trace_totals WHERE project_id = ?
  AND trace_id IN (SELECT trace_id
 FROM spans WHERE project_id = ?
  AND trace_type IN (?, ?)
  AND (start_time >= '2026-03-04 00:00:00.000000'
  AND start_time <= '2026-03-10 23:59:59.999999')
  AND indexHint(partition_week IN (?, ?, ?))
  AND (has(search_terms, ?)
  AND is_root
  AND xxHash64(trace_id) < ?))
 GROUP BY trace_id) AS settled INNER ANY JOIN (SELECT trace_id, max(last_version) AS written_version
 FROM trace_index WHERE project_id = ?
  AND trace_id IN (SELECT trace_id
 FROM spans WHERE project_id = ?
  AND trace_type IN (?, ?)
  AND (start_time >= '2026-03-04 00:00:00.000000'
  AND start_time <= '2026-03-10 23:59:59.999999')
  AND indexHint(partition_week IN (?, ?, ?))
  AND (has(search_terms, ?)
  AND is_root
  AND xxHash64(trace_id) < ?))
 GROUP BY trace_id) AS written ON of_trace = written.trace_id WHERE t.1 = 1
  AND settled_version >= written_version) AS totals ON trace_id = of_trace)
 GROUP BY bucket ORDER BY bucket
int64 1772582400000000
int64 3600000000
string s'1
string ag.metrics.tokens.cumulative.total
string ag.metrics.tokens.cumulative.total
string ag.metrics.tokens.cumulative.total
string ag.metrics.tokens.cumulative.total
string ag.metrics.tokens.cumulative.total
string 01890a5d-ac96-774b-bcce-b302099a8057
string invocation
string annotation
string 1970-01-01
string 2026-03-02
string 2026-03-09
string @session=s'1
uint64 9223372036854775808
string 01890a5d-ac96-774b-bcce-b302099a8057
string 01890a5d-ac96-774b-bcce-b302099a8057
string invocation
string annotation
string 1970-01-01
string 2026-03-02
string 2026-03-09
string @session=s'1
uint64 9223372036854775808
string 01890a5d-ac96-774b-bcce-b302099a8057
string 01890a5d-ac96-774b-bcce-b302099a8057
string invocation
string annotation
string 1970-01-01
string 2026-03-02
string 2026-03-09
string @session=s'1
uint64 9223372036854775808
-- what other spans sum
SELECT bucket, countIf(sure), groupArrayIf(11)(concat(trace_id, span_id, char(sure, m0_open), reinterpretAsFixedString(toFloat64(m0_sent))), NOT sure OR m0_open > 0), countIf(sure
  AND m0_have
  AND m0_open = 0), sumKahanIf(m0_value, sure
  AND m0_have
  AND m0_open = 0)
 FROM (SELECT intDiv(toUnixTimestamp64Micro(start_time) - ?, ?) AS bucket, trace_id, span_id,
  toUInt8(session_id = ?) AS sure,
  toUInt8(mapContains(attributes_number, ?)) AS m0_have, attributes_number[?] AS m0_value,
  toUInt8(multiIf(has(attributes_unindexed, ?), 2, 1, 1, 0)) AS m0_open, if(mapContains(attributes_number, ?), attributes_number[?], nan) AS m0_sent
 FROM (SELECT *
 FROM spans FINAL WHERE project_id = ?
  AND trace_type IN (?, ?)
  AND (start_time >= '2026-03-04 00:00:00.000000'
  AND start_time <= '2026-03-10 23:59:59.999999')
  AND indexHint(partition_week IN (?, ?, ?))
  AND (has(search_terms, ?)
  AND xxHash64(trace_id) < ?)) AS chosen)
 GROUP BY bucket ORDER BY bucket
int64 1772582400000000
int64 3600000000
string s'1
string ag.metrics.errors.cumulative
string ag.metrics.errors.cumulative
string ag.metrics.errors.cumulative
string ag.metrics.errors.cumulative
string ag.metrics.errors.cumulative
string 01890a5d-ac96-774b-bcce-b302099a8057
string invocation
string annotation
string 1970-01-01
string 2026-03-02
string 2026-03-09
string @session=s'1
uint64 9223372036854775808
-- columns and maps
SELECT bucket, countIf(sure), groupArrayIf(11)(concat(trace_id, span_id, char(sure, m0_open, m1_open, m2_open)), NOT sure OR m0_open > 0 OR m1_open > 0 OR m2_open > 0), arrayStringConcat(groupArrayIf(concat(reinterpretAsFixedString(toFloat64(m0_value)), ''), sure
  AND m0_have
  AND m0_open = 0)), arrayStringConcat(groupArrayIf(concat(reinterpretAsFixedString(toFloat64(m1_value)), ''), sure
  AND m1_have
  AND m1_open = 0)), arrayStringConcat(groupArrayIf(concat(reinterpretAsFixedString(toFloat64(m2_value)), ''), sure
  AND m2_have
  AND m2_open = 0))
 FROM (SELECT intDiv(toUnixTimestamp64Micro(start_time) - ?, ?) AS bucket, trace_id, span_id,
  toUInt8(1) AS sure,
  toUInt8(NOT isNaN(duration_ms)) AS m0_have, duration_ms AS m0_value,
  toUInt8(multiIf(0, 2, 0, 1, 0)) AS m0_open,
  toUInt8(mapContains(attributes_number, ?)) AS m1_have, attributes_number[?] AS m1_value,
  toUInt8(multiIf((NOT (mapContains(attributes_number, ?))
  AND has(attributes_unindexed, ?)), 2, 0, 1, 0)) AS m1_open,
  toUInt8(mapContains(attributes_number, ?)) AS m2_have, attributes_number[?] AS m2_value,
  toUInt8(multiIf((NOT (mapContains(attributes_number, ?))
  AND hasAny(attributes_unindexed, ?)), 2, 0, 1, 0)) AS m2_open
 FROM (SELECT *
 FROM spans FINAL WHERE project_id = ?
  AND trace_type IN (?, ?)
  AND (start_time >= '2026-03-04 00:00:00.000000'
  AND start_time <= '2026-03-10 23:59:59.999999')
  AND indexHint(partition_week IN (?, ?, ?))
  AND xxHash64(trace_id) < ?) AS chosen)
 GROUP BY bucket ORDER BY bucket
int64 1772582400000000
int64 3600000000
string ag.meta.score
string ag.meta.score
string ag.meta.score
string ag.meta.score
string ag.meta.list.0
string ag.meta.list.0
string ag.meta.list.0
[]string [ag.meta.list.0 ag.meta.list]
string 01890a5d-ac96-774b-bcce-b302099a8057
string invocation
string annotation
string 1970-01-01
string 2026-03-02
string 2026-03-09
uint64 9223372036854775808
-- groups
SELECT bucket, g0, g1, countIf(sure), groupArrayIf(11)(concat(trace_id, span_id, char(sure, m0_open)), NOT sure OR m0_open > 0), arrayStringConcat(groupArrayIf(concat(reinterpretAsFixedString(toFloat64(m0_value)), ''), sure
  AND m0_have
  AND m0_open = 0))
 FROM (SELECT intDiv(toUnixTimestamp64Micro(start_time) - ?, ?) AS bucket, trace_id, span_id,
  toUInt8(1) AS sure, toString(model) AS g0, multiIf(mapContains(attributes_string, ?), attributes_string[?], mapContains(attributes_number, ?), toString(attributes_number[?]), mapContains(attributes_bool, ?), if(attributes_bool[?], 'true', 'false'), '') AS g1,
  toUInt8(NOT isNaN(costs_total)) AS m0_have, costs_total AS m0_value,
  toUInt8(multiIf(0, 2, 0, 1, 0)) AS m0_open
 FROM (SELECT *
 FROM spans FINAL WHERE project_id = ?
  AND trace_type IN (?, ?)
  AND (start_time >= '2026-03-04 00:00:00.000000'
  AND start_time <= '2026-03-10 23:59:59.999999')
  AND indexHint(partition_week IN (?, ?, ?))
  AND xxHash64(trace_id) < ?) AS chosen)
 GROUP BY bucket, g0, g1 ORDER BY bucket
int64 1772582400000000
int64 3600000000
string ag.tags.t'1
string ag.tags.t'1
string ag.tags.t'1
string ag.tags.t'1
string ag.tags.t'1
string ag.tags.t'1
string 01890a5d-ac96-774b-bcce-b302099a8057
string invocation
string annotation
string 1970-01-01
string 2026-03-02
string 2026-03-09
uint64 9223372036854775808
-- times of sessions
SELECT session_id AS id, toUnixTimestamp64Micro(min(start_time)), toUnixTimestamp64Micro(max(start_time))
 FROM spans FINAL WHERE project_id = ?
  AND trace_type IN ('invocation', 'annotation', 'unknown')
  AND session_id IN (?, ?)
  AND (start_time >= '2026-03-04 00:00:00.000000'
  AND start_time <= '2026-03-11 00:00:00.000000')
  AND indexHint(partition_week IN (?, ?, ?))
 GROUP BY id
string 01000000-0000-0000-0000-000000000000
string s'1
string s2
string 1970-01-01
string 2026-03-02
string 2026-03-09
-- models of sessions
SELECT id, arraySort(groupUniqArray(model_name))
 FROM (SELECT trace_id, toString(model) AS model_name
 FROM spans FINAL WHERE project_id = ?
  AND trace_type IN ('invocation', 'annotation', 'unknown')
  AND model != ''
  AND (start_time >= '2026-03-03 00:00:00.000000'
  AND start_time <= '2026-03-12 00:00:00.000000')
  AND indexHint(partition_week IN (?, ?, ?))
  AND trace_id IN (SELECT trace_id
 FROM spans FINAL WHERE project_id = ?
  AND trace_type IN ('invocation', 'annotation', 'unknown')
  AND session_id IN (?, ?)
  AND (start_time >= '2026-03-04 00:00:00.000000'
  AND start_time <= '2026-03-11 00:00:00.000000')
  AND indexHint(partition_week IN (?, ?, ?))
  AND is_root)) AS answers INNER JOIN (SELECT trace_id, session_id AS id
 FROM spans FINAL WHERE project_id = ?
  AND trace_type IN ('invocation', 'annotation', 'unknown')
  AND session_id IN (?, ?)
  AND (start_time >= '2026-03-04 00:00:00.000000'
  AND start_time <= '2026-03-11 00:00:00.000000')
  AND indexHint(partition_week IN (?, ?, ?))
  AND is_root) AS roots USING trace_id
 GROUP BY id
string 01000000-0000-0000-0000-000000000000
string 1970-01-01
string 2026-03-02
string 2026-03-09
string 01000000-0000-0000-0000-000000000000
string s'1
string s2
string 1970-01-01
string 2026-03-02
string 2026-03-09
string 01000000-0000-0000-0000-000000000000
string s'1
string s2
string 1970-01-01
string 2026-03-02
string 2026-03-09
-- words
SELECT bucket, countIf(sure), groupArrayIf(11)(concat(trace_id, span_id, char(sure, m0_open, m1_open, m2_open, m3_open)), NOT sure OR m0_open > 0 OR m1_open > 0 OR m2_open > 0 OR m3_open > 0), sumMapIf(map(m0_value, toUInt64(1)), sure
  AND m0_have
  AND m0_open = 0), sumMapIf(map(m1_value, toUInt64(1)), sure
  AND m1_have
  AND m1_open = 0), sumMapIf(map(m2_value, toUInt64(1)), sure
  AND m2_have
  AND m2_open = 0), sumMapIf(map(m3_value, toUInt64(1)), sure
  AND m3_have
  AND m3_open = 0)
 FROM (SELECT intDiv(toUnixTimestamp64Micro(start_time) - ?, ?) AS bucket, trace_id, span_id,
  toUInt8(1) AS sure,
  toUInt8(1) AS m0_have, toString(trace_type) AS m0_value,
  toUInt8(multiIf(0, 2, 0, 1, 0)) AS m0_open,
  toUInt8(span_type_declared) AS m1_have, toString(span_type) AS m1_value,
  toUInt8(multiIf(0, 2, 0, 1, 0)) AS m1_open,
  toUInt8(mapContains(attributes_string, ?)) AS m2_have, attributes_string[?] AS m2_value,
  toUInt8(multiIf((NOT (mapContains(attributes_string, ?))
  AND has(attributes_unindexed, ?)), 2, 0, 1, 0)) AS m2_open,
  toUInt8(mapContains(attributes_enum, ?)) AS m3_have, attributes_enum[?] AS m3_value,
  toUInt8(multiIf((NOT (mapContains(attributes_enum, ?))
  AND has(attributes_unindexed, ?)), 2, 0, 1, 0)) AS m3_open
 FROM (SELECT *
 FROM spans FINAL WHERE project_id = ?
  AND trace_type IN (?, ?)
  AND (start_time >= '2026-03-04 00:00:00.000000'
  AND start_time <= '2026-03-10 23:59:59.999999')
  AND indexHint(partition_week IN (?, ?, ?))
  AND (is_root
  AND xxHash64(trace_id) < ?)) AS chosen)
 GROUP BY bucket ORDER BY bucket
int64 1772582400000000
int64 3600000000
string top.a\.b
string top.a\.b
string top.a\.b
string top.a\.b
string ag.meta.response.model
string ag.meta.response.model
string ag.meta.response.model
string ag.meta.response.model
string 01890a5d-ac96-774b-bcce-b302099a8057
string invocation
string annotation
string 1970-01-01
string 2026-03-02
string 2026-03-09
uint64 9223372036854775808
-- objects
SELECT bucket, countIf(sure), groupArrayIf(11)(concat(trace_id, span_id, char(sure, m0_open, m1_open, m2_open)), NOT sure OR m0_open > 0 OR m1_open > 0 OR m2_open > 0), countIf(sure
  AND m0_have
  AND m0_open = 0), countIf(sure
  AND m1_have
  AND m1_open = 0), countIf(sure
  AND m2_have
  AND m2_open = 0)
 FROM (SELECT intDiv(toUnixTimestamp64Micro(start_time) - ?, ?) AS bucket, trace_id, span_id,
  toUInt8(1) AS sure,
  toUInt8(1) AS m0_have, 0 AS m0_value,
  toUInt8(multiIf(0, 2, 0, 1, 0)) AS m0_open,
  toUInt8((arrayExists(k -> startsWith(k, ?)
  AND NOT match(substring(k, ?), '^[0-9]'), mapKeys(attributes_string)) OR arrayExists(k -> startsWith(k, ?)
  AND NOT match(substring(k, ?), '^[0-9]'), mapKeys(attributes_number)) OR arrayExists(k -> startsWith(k, ?)
  AND NOT match(substring(k, ?), '^[0-9]'), mapKeys(attributes_bool)) OR arrayExists(k -> startsWith(k, ?)
  AND NOT match(substring(k, ?), '^[0-9]'), attributes_unindexed) OR NOT isNaN(tokens_prompt) OR NOT isNaN(tokens_completion) OR NOT isNaN(tokens_total))) AS m1_have, 0 AS m1_value,
  toUInt8(multiIf((NOT ((arrayExists(k -> startsWith(k, ?)
  AND NOT match(substring(k, ?), '^[0-9]'), mapKeys(attributes_string)) OR arrayExists(k -> startsWith(k, ?)
  AND NOT match(substring(k, ?), '^[0-9]'), mapKeys(attributes_number)) OR arrayExists(k -> startsWith(k, ?)
  AND NOT match(substring(k, ?), '^[0-9]'), mapKeys(attributes_bool)) OR arrayExists(k -> startsWith(k, ?)
  AND NOT match(substring(k, ?), '^[0-9]'), attributes_unindexed) OR NOT isNaN(tokens_prompt) OR NOT isNaN(tokens_completion) OR NOT isNaN(tokens_total)))
  AND (has(attributes_unindexed, ?) OR arrayExists(k -> startsWith(k, ?)
  AND match(substring(k, ?), '^[0-9]'), mapKeys(attributes_string)) OR arrayExists(k -> startsWith(k, ?)
  AND match(substring(k, ?), '^[0-9]'), mapKeys(attributes_number)) OR arrayExists(k -> startsWith(k, ?)
  AND match(substring(k, ?), '^[0-9]'), mapKeys(attributes_bool)) OR arrayExists(k -> startsWith(k, ?)
  AND match(substring(k, ?), '^[0-9]'), attributes_unindexed))), 2, 0, 1, 0)) AS m1_open,
  toUInt8((arrayExists(k -> startsWith(k, ?)
  AND NOT match(substring(k, ?), '^[0-9]'), mapKeys(attributes_string)) OR arrayExists(k -> startsWith(k, ?)
  AND NOT match(substring(k, ?), '^[0-9]'), mapKeys(attributes_number)) OR arrayExists(k -> startsWith(k, ?)
  AND NOT match(substring(k, ?), '^[0-9]'), mapKeys(attributes_bool)) OR arrayExists(k -> startsWith(k, ?)
  AND NOT match(substring(k, ?), '^[0-9]'), attributes_unindexed) OR NOT isNaN(tokens_prompt) OR NOT isNaN(tokens_completion) OR NOT isNaN(tokens_total))) AS m2_have, 0 AS m2_value,
  toUInt8(multiIf(NOT ((arrayExists(k -> startsWith(k, ?)
  AND NOT match(substring(k, ?), '^[0-9]'), mapKeys(attributes_string)) OR arrayExists(k -> startsWith(k, ?)
  AND NOT match(substring(k, ?), '^[0-9]'), mapKeys(attributes_number)) OR arrayExists(k -> startsWith(k, ?)
  AND NOT match(substring(k, ?), '^[0-9]'), mapKeys(attributes_bool)) OR arrayExists(k -> startsWith(k, ?)
  AND NOT match(substring(k, ?), '^[0-9]'), attributes_unindexed) OR NOT isNaN(tokens_prompt) OR NOT isNaN(tokens_completion) OR NOT isNaN(tokens_total))), 2, 0, 1, 0)) AS m2_open
 FROM (SELECT *
 FROM spans FINAL WHERE project_id = ?
  AND trace_type IN (?, ?)
  AND (start_time >= '2026-03-04 00:00:00.000000'
  AND start_time <= '2026-03-10 23:59:59.999999')
  AND indexHint(partition_week IN (?, ?, ?))
  AND (is_root
  AND xxHash64(trace_id) < ?)) AS chosen)
 GROUP BY bucket ORDER BY bucket
int64 1772582400000000
int64 3600000000
string ag.metrics.tokens.incremental.
int 31
string ag.metrics.tokens.incremental.
int 31
string ag.metrics.tokens.incremental.
int 31
string ag.metrics.tokens.incremental.
int 31
string ag.metrics.tokens.incremental.
int 31
string ag.metrics.tokens.incremental.
int 31
string ag.metrics.tokens.incremental.
int 31
string ag.metrics.tokens.incremental.
int 31
string ag.metrics.tokens.incremental
string ag.metrics.tokens.incremental.
int 31
string ag.metrics.tokens.incremental.
int 31
string ag.metrics.tokens.incremental.
int 31
string ag.metrics.tokens.incremental.
int 31
string ag.metrics.tokens.
int 19
string ag.metrics.tokens.
int 19
string ag.metrics.tokens.
int 19
string ag.metrics.tokens.
int 19
string ag.metrics.tokens.
int 19
string ag.metrics.tokens.
int 19
string ag.metrics.tokens.
int 19
string ag.metrics.tokens.
int 19
string 01890a5d-ac96-774b-bcce-b302099a8057
string invocation
string annotation
string 1970-01-01
string 2026-03-02
string 2026-03-09
uint64 9223372036854775808
-- elements
SELECT bucket, countIf(sure), groupArrayIf(11)(concat(trace_id, span_id, char(sure, m0_open)), NOT sure OR m0_open > 0),
  toUInt8(0)
 FROM (SELECT intDiv(toUnixTimestamp64Micro(start_time) - ?, ?) AS bucket, trace_id, span_id,
  toUInt8(1) AS sure,
  toUInt8(0) AS m0_have, 0 AS m0_value,
  toUInt8(multiIf((has(attributes_unindexed, ?) OR arrayExists(k -> startsWith(k, ?)
  AND match(substring(k, ?), '^[0-9]'), mapKeys(attributes_string)) OR arrayExists(k -> startsWith(k, ?)
  AND match(substring(k, ?), '^[0-9]'), mapKeys(attributes_number)) OR arrayExists(k -> startsWith(k, ?)
  AND match(substring(k, ?), '^[0-9]'), mapKeys(attributes_bool)) OR arrayExists(k -> startsWith(k, ?)
  AND match(substring(k, ?), '^[0-9]'), attributes_unindexed)), 2, 0, 1, 0)) AS m0_open
 FROM (SELECT *
 FROM spans FINAL WHERE project_id = ?
  AND trace_type IN (?, ?)
  AND (start_time >= '2026-03-04 00:00:00.000000'
  AND start_time <= '2026-03-10 23:59:59.999999')
  AND indexHint(partition_week IN (?, ?, ?))
  AND (is_root
  AND xxHash64(trace_id) < ?)) AS chosen)
 GROUP BY bucket ORDER BY bucket
int64 1772582400000000
int64 3600000000
string ag.meta.tags
string ag.meta.tags.
int 14
string ag.meta.tags.
int 14
string ag.meta.tags.
int 14
string ag.meta.tags.
int 14
string 01890a5d-ac96-774b-bcce-b302099a8057
string invocation
string annotation
string 1970-01-01
string 2026-03-02
string 2026-03-09
uint64 9223372036854775808
-- by creation, decided by documents
SELECT bucket, countIf(sure), groupArrayIf(11)(concat(trace_id, span_id, char(sure, m0_open)), NOT sure OR m0_open > 0), countIf(sure
  AND m0_have
  AND m0_open = 0
  AND m0_value), countIf(sure
  AND m0_have
  AND m0_open = 0
  AND NOT m0_value)
 FROM (SELECT intDiv(toUnixTimestamp64Micro(created_at) - ?, ?) AS bucket, trace_id, span_id,
  toUInt8((start_time, stream_partition, version) IN (SELECT start_time, stream_partition, version
 FROM span_payloads_packed WHERE project_id = ?
  AND (position(lower(substring(text, 1, reinterpretAsUInt32(substring(lengths, 1, 4)))), ?) > 0 OR position(lower(substring(text, 1 + reinterpretAsUInt32(substring(lengths, 1, 4)), reinterpretAsUInt32(substring(lengths, 5, 4)))), ?) > 0 OR position(lower(substring(text, 1 + reinterpretAsUInt32(substring(lengths, 1, 4)) + reinterpretAsUInt32(substring(lengths, 5, 4)), reinterpretAsUInt32(substring(lengths, 9, 4)))), ?) > 0 OR position(lower(substring(text, 1 + reinterpretAsUInt32(substring(lengths, 1, 4)) + reinterpretAsUInt32(substring(lengths, 5, 4)) + reinterpretAsUInt32(substring(lengths, 9, 4)), reinterpretAsUInt32(substring(lengths, 13, 4)))), ?) > 0 OR position(lower(substring(text, 1 + reinterpretAsUInt32(substring(lengths, 1, 4)) + reinterpretAsUInt32(substring(lengths, 5, 4)) + reinterpretAsUInt32(substring(lengths, 9, 4)) + reinterpretAsUInt32(substring(lengths, 13, 4)), reinterpretAsUInt32(substring(lengths, 17, 4)))), ?) > 0))) AS sure,
  toUInt8(mapContains(attributes_bool, ?)) AS m0_have, attributes_bool[?] AS m0_value,
  toUInt8(multiIf((NOT (mapContains(attributes_bool, ?))
  AND has(attributes_unindexed, ?)), 2, 0, 1, 0)) AS m0_open
 FROM (SELECT *
 FROM spans FINAL WHERE project_id = ?
  AND trace_type IN (?, ?)
  AND (created_at >= '2026-03-04 00:00:00.000000'
  AND created_at <= '2026-03-10 23:59:59.999999')
  AND (is_root
  AND xxHash64(trace_id) < ?
  AND (start_time, stream_partition, version) IN (SELECT start_time, stream_partition, version
 FROM span_payloads_packed WHERE project_id = ?
  AND (position(lower(text), ?) > 0
  AND (position(lower(text), ?) <= reinterpretAsUInt32(substring(lengths, 1, 4)) + reinterpretAsUInt32(substring(lengths, 5, 4)) + reinterpretAsUInt32(substring(lengths, 9, 4)) + reinterpretAsUInt32(substring(lengths, 13, 4)) + reinterpretAsUInt32(substring(lengths, 17, 4)) OR position(text, '"exception":') > 0))))) AS chosen)
 GROUP BY bucket ORDER BY bucket
int64 1772582400000000
int64 3600000000
string 01890a5d-ac96-774b-bcce-b302099a8057
string paris
string paris
string paris
string paris
string paris
string ag.flags.f
string ag.flags.f
string ag.flags.f
string ag.flags.f
string 01890a5d-ac96-774b-bcce-b302099a8057
string invocation
string annotation
uint64 9223372036854775808
string 01890a5d-ac96-774b-bcce-b302099a8057
string paris
string paris
-- sessions by their first span
SELECT id, toUnixTimestamp64Micro(active), sipHash64(id) AS sort_hash
 FROM (SELECT session_id AS id, min(start_time) AS active
 FROM spans FINAL WHERE project_id = ?
  AND trace_type IN ('invocation', 'annotation', 'unknown')
  AND start_time <= '2026-03-11 00:00:00.000000'
  AND indexHint((partition_week <= ? OR partition_week = '1970-01-01'))
  AND session_id != ''
 GROUP BY id) WHERE (active >= '2026-03-04 00:00:00.000000'
  AND active <= '2026-03-11 00:00:00.000000') ORDER BY active DESC, sort_hash DESC, id DESC LIMIT 51
string 01000000-0000-0000-0000-000000000000
string 2026-03-09
-- sessions by their first span, behind a cursor
SELECT id, toUnixTimestamp64Micro(active), sipHash64(id) AS sort_hash
 FROM (SELECT session_id AS id, min(start_time) AS active
 FROM spans FINAL WHERE project_id = ?
  AND trace_type IN ('invocation', 'annotation', 'unknown')
  AND start_time <= '2026-03-07 12:00:00.000000'
  AND indexHint((partition_week <= ? OR partition_week = '1970-01-01'))
  AND session_id != ''
 GROUP BY id) WHERE (active >= '2026-03-04 00:00:00.000000'
  AND active <= '2026-03-07 12:00:00.000000'
  AND (active != '2026-03-07 12:00:00.000000' OR sort_hash < 7)) ORDER BY active DESC, sort_hash DESC, id DESC LIMIT 51
string 01000000-0000-0000-0000-000000000000
string 2026-03-02
-- users by their last span
SELECT id, toUnixTimestamp64Micro(active), sipHash64(id) AS sort_hash
 FROM (SELECT user_id AS id, max(start_time) AS active
 FROM spans FINAL WHERE project_id = ?
  AND trace_type IN ('invocation', 'annotation', 'unknown')
  AND start_time >= '2026-03-04 00:00:00.000000'
  AND indexHint((partition_week >= ? OR partition_week = '1970-01-01'))
  AND user_id != ''
 GROUP BY id) WHERE (active >= '2026-03-04 00:00:00.000000'
  AND active <= '2026-03-11 00:00:00.000000') ORDER BY active, sort_hash, id LIMIT 51
string 01000000-0000-0000-0000-000000000000
string 2026-03-02
