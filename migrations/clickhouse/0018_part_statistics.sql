-- The least and the greatest of a column in each part, in memory: what a part
-- cannot hold is out before its primary key, its indexes or its files are looked
-- at, and each that is not costs a statement 0.1 ms and a turn of a thread. A page
-- of 25 parts took a fifth more of the processor, one of 400 eight times as much.
-- The sink has them written with each insert, and merges keep them; what is
-- there already gets them when it is merged. ClickHouse 26.4 and later read them,
-- earlier ones carry them in vain, and do not know 'basic', which is to follow
-- 'minmax'.
ALTER TABLE {{table "spans"}}{{on_cluster}} ADD STATISTICS IF NOT EXISTS start_time TYPE minmax;
ALTER TABLE {{table "span_documents"}}{{on_cluster}} ADD STATISTICS IF NOT EXISTS stream_offset TYPE minmax;
