-- When the oldest erased text was written. Older texts of assistants cannot quote it.
ALTER TABLE "erasure_runs" ADD COLUMN "words_since" TIMESTAMPTZ(3);
