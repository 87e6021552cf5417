-- What a trace's spans declare and whether one has links, once more, as the
-- settler found it: (next offset of the stream << 4) | 8 | declared << 1 | linked.
-- The aggregates beside it only ever grow; an edit may take away what they say.
-- Of two the later says it, and what is written at or after its offset adds to it.
--
-- first_version is the lowest version that was written of a trace: who has seen
-- that one has seen all of it. Rows from before this column say 0.
{{alter "trace_index" "ADD COLUMN IF NOT EXISTS settled_flags SimpleAggregateFunction(max, UInt64)"}}
{{alter "trace_index" "ADD COLUMN IF NOT EXISTS first_version SimpleAggregateFunction(min, UInt64)"}}
