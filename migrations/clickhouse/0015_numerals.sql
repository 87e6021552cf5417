-- Numerals (domain/ngram) beside the n-grams: digits, and what stands before them.
-- All five digits, and each digit after the ends of a few words, are soon somewhere
-- in a section of 18 000 spans, so a search for a word with a number read all of them.
--
-- A row has the numerals of its texts, or has_numerals is 0: it is of a sink of an
-- earlier build, or merged with one. Such rows are searched as before.
{{alter "span_ngrams" "ADD COLUMN IF NOT EXISTS numerals AggregateFunction(groupBitmap, UInt32), ADD COLUMN IF NOT EXISTS has_numerals SimpleAggregateFunction(min, UInt8)"}}
