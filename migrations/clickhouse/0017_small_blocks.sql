-- What a page of any moment asks for lies in as many places as it has traces, and
-- each place is read with all that is compressed together with it. A lookup in
-- trace_index wants one granule of the eight that a block held; one in
-- span_documents wants one of 32 of the ids and of two of the heads. Where fifty
-- traces lie took 12.6 ms and takes 8.2, their documents 14.6 and 12.6, for 5 % more
-- of the one and 3 % more of the other on disk. The texts of a granule are longer
-- than a block: they stay as they are. Parts that are there change when they are
-- merged.
ALTER TABLE {{table "trace_index"}}{{on_cluster}} MODIFY SETTING min_compress_block_size = 4096;
ALTER TABLE {{table "span_documents"}}{{on_cluster}} MODIFY SETTING min_compress_block_size = 2048;
