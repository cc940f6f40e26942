-- A search ranks some hundred rows by their words. Rows of usual size keep document and words in the table: reading a value that is stored
-- beside it takes three more page accesses, and storing or deleting it as many. A document that does not fit moves out first, because it is
-- read for one page of results only. Values of existing rows stay where they are until the row is rewritten.
ALTER TABLE units SET (toast_tuple_target = 4080);
ALTER TABLE skills SET (toast_tuple_target = 4080);
ALTER TABLE units ALTER COLUMN search SET STORAGE MAIN;
ALTER TABLE skills ALTER COLUMN search SET STORAGE MAIN;

-- All scopes of a reader and all words are one lookup in one index, and no plan can replace it by the b-trees of the scope, which contain
-- every row of the reader. So one plan serves all searches, and is not made again for each. Every search reads the whole list of entries that
-- wait to be added to the index: at most 256 kB.
CREATE INDEX units_words_idx ON units USING gin ((ARRAY[scope]), search) WITH (gin_pending_list_limit = 256) WHERE search IS NOT NULL;
DROP INDEX units_search_idx;
CREATE INDEX skills_words_idx ON skills USING gin ((ARRAY[scope]), search) WITH (gin_pending_list_limit = 256) WHERE search IS NOT NULL;
DROP INDEX skills_search_idx;
