-- What a page of any moment asks for lies in as many places as it has traces, and
-- each place is read with all that is compressed together with it. Blocks of
-- trace_index held eight stretches of which a lookup wants one, those of the ids
-- and heads of span_documents as many of a record: where fifty traces lie took
-- 12.6 ms and takes 8.2, their documents 14.6 and 12.6, for 5 % more of the one and
-- 3 % more of the other on disk. Texts are longer than a block: they stay as they
-- are. Parts that are there change when they are merged.
ALTER TABLE {{table "trace_index"}}{{on_cluster}} MODIFY SETTING min_compress_block_size = 4096;
ALTER TABLE {{table "span_documents"}}{{on_cluster}} MODIFY SETTING min_compress_block_size = 2048;
