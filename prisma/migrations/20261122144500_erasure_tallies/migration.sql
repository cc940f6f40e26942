-- What several pages of an erasure may meet is counted once.
CREATE TABLE "erasure_tallies" (
    "run_id" TEXT NOT NULL,
    "holder" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "id" TEXT NOT NULL,

    CONSTRAINT "erasure_tallies_pkey" PRIMARY KEY ("run_id","holder","name","id")
);
ALTER TABLE "erasure_tallies" ADD CONSTRAINT "erasure_tallies_run_id_holder_fkey" FOREIGN KEY ("run_id", "holder") REFERENCES "erasure_steps"("run_id", "holder") ON DELETE CASCADE ON UPDATE CASCADE;
