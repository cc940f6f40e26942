-- An erasure that waits for a store that does not answer: since when, how often it asked, and whether admins were notified.
CREATE TABLE "erasure_waits" (
    "run_id" TEXT NOT NULL,
    "store" TEXT NOT NULL,
    "since" TIMESTAMPTZ(3) NOT NULL,
    "tries" INTEGER NOT NULL DEFAULT 1,
    "tried_at" TIMESTAMPTZ(3) NOT NULL,
    "alerted_at" TIMESTAMPTZ(3),

    CONSTRAINT "erasure_waits_pkey" PRIMARY KEY ("run_id","store")
);
CREATE INDEX "erasure_waits_alerted_at_since_idx" ON "erasure_waits"("alerted_at", "since");
CREATE INDEX "erasure_waits_store_since_run_id_idx" ON "erasure_waits"("store", "since", "run_id");
ALTER TABLE "erasure_waits" ADD CONSTRAINT "erasure_waits_run_id_fkey" FOREIGN KEY ("run_id") REFERENCES "erasure_runs"("id") ON DELETE CASCADE ON UPDATE CASCADE;
