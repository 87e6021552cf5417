-- one_tree tells that the trace is a single tree: one root, every parent stored,
-- no cycle. The totals are then just what the root's cumulative metrics sum, and
-- statistics over roots read them here. Rows from before this column say 0: such
-- traces are summed from their spans.
{{alter "trace_rollup" "ADD COLUMN IF NOT EXISTS one_tree UInt8"}}
