-- The words that a run erases, as keyed fingerprints, until its last verification.
CREATE TABLE "erased_words" (
    "run_id" TEXT NOT NULL,
    "version" INTEGER NOT NULL DEFAULT 1,
    "projects" TEXT[],
    "fingerprints" BYTEA NOT NULL,

    CONSTRAINT "erased_words_pkey" PRIMARY KEY ("run_id")
);
ALTER TABLE "erased_words" ADD CONSTRAINT "erased_words_run_id_fkey" FOREIGN KEY ("run_id") REFERENCES "erasure_runs"("id") ON DELETE CASCADE ON UPDATE CASCADE;
