-- DropIndex
DROP INDEX "erased_ids_erased_at_idx";

-- AlterTable
ALTER TABLE "erased_ids" ADD COLUMN     "was_public" BOOLEAN NOT NULL DEFAULT false;

-- DropIndex
DROP INDEX "units_attributed_to_idx";

-- AlterTable; what is there already gets its words from a job.
ALTER TABLE "units" ADD COLUMN     "domain" TEXT,
ADD COLUMN     "novelty" DOUBLE PRECISION,
ADD COLUMN     "original_author" TEXT,
ADD COLUMN     "scope" TEXT GENERATED ALWAYS AS (CASE visibility WHEN 'network'::visibility THEN 'network' WHEN 'org'::visibility THEN 'org:' || organisation_id ELSE 'agent:' || agent_id END) STORED,
ADD COLUMN     "search" tsvector,
ADD COLUMN     "votes_against" DOUBLE PRECISION NOT NULL DEFAULT 0,
ADD COLUMN     "votes_for" DOUBLE PRECISION NOT NULL DEFAULT 0;

UPDATE "units" SET "domain" = "document"->'metadata'->>'task_domain';
ALTER TABLE "units" ALTER COLUMN "domain" SET NOT NULL;

-- CreateTable
CREATE TABLE "export_runs" (
    "id" TEXT NOT NULL,
    "subject_id" TEXT NOT NULL,
    "agent_id" TEXT,
    "requested_by" TEXT NOT NULL,
    "format" TEXT NOT NULL,
    "basis" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "export_runs_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "unit_votes" (
    "unit_id" TEXT NOT NULL,
    "voter_id" TEXT NOT NULL,
    "owner_key" TEXT NOT NULL,
    "valid" BOOLEAN NOT NULL,
    "weight" DOUBLE PRECISION NOT NULL,
    "feedback" TEXT,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "unit_votes_pkey" PRIMARY KEY ("unit_id","owner_key")
);

-- CreateTable
CREATE TABLE "unit_reports" (
    "unit_id" TEXT NOT NULL,
    "reporter_id" TEXT NOT NULL,
    "owner_key" TEXT NOT NULL,
    "reason" TEXT NOT NULL,
    "network" BYTEA,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "settled_at" TIMESTAMPTZ(3),

    CONSTRAINT "unit_reports_pkey" PRIMARY KEY ("unit_id","owner_key")
);

-- CreateTable
CREATE TABLE "sop_versions" (
    "unit_id" TEXT NOT NULL,
    "version" INTEGER NOT NULL,
    "document" JSONB NOT NULL,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "approved_by" TEXT,
    "approved_at" TIMESTAMPTZ(3),

    CONSTRAINT "sop_versions_pkey" PRIMARY KEY ("unit_id","version")
);

-- CreateTable
CREATE TABLE "skills" (
    "id" TEXT NOT NULL,
    "agent_id" TEXT NOT NULL,
    "organisation_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT NOT NULL,
    "visibility" "visibility" NOT NULL,
    "scope" TEXT GENERATED ALWAYS AS (CASE visibility WHEN 'network'::visibility THEN 'network' WHEN 'org'::visibility THEN 'org:' || organisation_id ELSE 'agent:' || agent_id END) STORED,
    "front_matter" JSONB NOT NULL,
    "document" TEXT NOT NULL,
    "undeclared_tools" TEXT[],
    "search" tsvector,
    "quality_score" DOUBLE PRECISION NOT NULL,
    "version" INTEGER NOT NULL DEFAULT 1,
    "quarantined_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "skills_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "skill_files" (
    "skill_id" TEXT NOT NULL,
    "path" TEXT NOT NULL,
    "content" TEXT NOT NULL,
    "size" INTEGER NOT NULL,
    "sha256" TEXT NOT NULL,

    CONSTRAINT "skill_files_pkey" PRIMARY KEY ("skill_id","path")
);

-- CreateTable
CREATE TABLE "search_words" (
    "scope" TEXT NOT NULL,
    "word" TEXT NOT NULL,
    "units" INTEGER NOT NULL,

    CONSTRAINT "search_words_pkey" PRIMARY KEY ("scope","word")
);

-- CreateTable
CREATE TABLE "reputation" (
    "agent_id" TEXT NOT NULL,
    "score" DOUBLE PRECISION NOT NULL,
    "day" DATE NOT NULL,
    "gained_today" DOUBLE PRECISION NOT NULL,

    CONSTRAINT "reputation_pkey" PRIMARY KEY ("agent_id")
);

-- CreateTable
CREATE TABLE "reputation_ledger" (
    "id" TEXT NOT NULL,
    "agent_id" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "change" DOUBLE PRECISION NOT NULL,
    "reason" TEXT NOT NULL,
    "subject_id" TEXT NOT NULL,

    CONSTRAINT "reputation_ledger_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "retention_overrides" (
    "visibility" "visibility" NOT NULL,
    "days" INTEGER,
    "set_by" TEXT NOT NULL,
    "set_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "retention_overrides_pkey" PRIMARY KEY ("visibility")
);

-- CreateTable
CREATE TABLE "retention_sweeps" (
    "id" TEXT NOT NULL,
    "trigger" TEXT NOT NULL,
    "requested_by" TEXT NOT NULL,
    "policy" JSONB NOT NULL,
    "started_at" TIMESTAMPTZ(3) NOT NULL,
    "finished_at" TIMESTAMPTZ(3),
    "deleted" JSONB NOT NULL DEFAULT '{}',
    "held" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "retention_sweeps_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "legal_holds" (
    "id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "target_id" TEXT NOT NULL,
    "reason" TEXT NOT NULL,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3),
    "released_at" TIMESTAMPTZ(3),
    "released_by" TEXT,

    CONSTRAINT "legal_holds_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "export_runs_agent_id_at_idx" ON "export_runs"("agent_id", "at");

-- CreateIndex
CREATE INDEX "export_runs_subject_id_at_idx" ON "export_runs"("subject_id", "at");

-- CreateIndex
CREATE INDEX "export_runs_at_idx" ON "export_runs"("at");

-- CreateIndex
CREATE INDEX "unit_votes_voter_id_at_idx" ON "unit_votes"("voter_id", "at");

-- CreateIndex
CREATE INDEX "unit_reports_reporter_id_at_idx" ON "unit_reports"("reporter_id", "at");

-- CreateIndex
CREATE INDEX "skills_scope_quality_score_id_idx" ON "skills"("scope", "quality_score" DESC, "id");

-- CreateIndex
CREATE INDEX "skills_scope_created_at_id_idx" ON "skills"("scope", "created_at" DESC, "id");

-- CreateIndex
CREATE INDEX "skills_visibility_created_at_idx" ON "skills"("visibility", "created_at");

-- CreateIndex
CREATE UNIQUE INDEX "skills_agent_id_name_key" ON "skills"("agent_id", "name");

-- CreateIndex
CREATE INDEX "reputation_score_agent_id_idx" ON "reputation"("score" DESC, "agent_id");

-- CreateIndex
CREATE INDEX "reputation_ledger_agent_id_at_id_idx" ON "reputation_ledger"("agent_id", "at", "id");

-- CreateIndex
CREATE INDEX "reputation_ledger_subject_id_idx" ON "reputation_ledger"("subject_id");

-- CreateIndex
CREATE INDEX "retention_sweeps_started_at_idx" ON "retention_sweeps"("started_at");

-- CreateIndex
CREATE INDEX "legal_holds_kind_target_id_idx" ON "legal_holds"("kind", "target_id");

-- CreateIndex
CREATE INDEX "legal_holds_created_at_id_idx" ON "legal_holds"("created_at", "id");

-- CreateIndex
CREATE INDEX "erased_ids_erased_at_id_idx" ON "erased_ids"("erased_at", "id");

-- CreateIndex
CREATE INDEX "units_scope_quality_score_id_idx" ON "units"("scope", "quality_score" DESC, "id");

-- CreateIndex
CREATE INDEX "units_scope_created_at_id_idx" ON "units"("scope", "created_at" DESC, "id");

-- CreateIndex
CREATE INDEX "units_visibility_created_at_idx" ON "units"("visibility", "created_at");

-- AddForeignKey
ALTER TABLE "unit_votes" ADD CONSTRAINT "unit_votes_unit_id_fkey" FOREIGN KEY ("unit_id") REFERENCES "units"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "unit_reports" ADD CONSTRAINT "unit_reports_unit_id_fkey" FOREIGN KEY ("unit_id") REFERENCES "units"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "sop_versions" ADD CONSTRAINT "sop_versions_unit_id_fkey" FOREIGN KEY ("unit_id") REFERENCES "units"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "skills" ADD CONSTRAINT "skills_agent_id_organisation_id_fkey" FOREIGN KEY ("agent_id", "organisation_id") REFERENCES "agents"("id", "organisation_id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "skill_files" ADD CONSTRAINT "skill_files_skill_id_fkey" FOREIGN KEY ("skill_id") REFERENCES "skills"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "reputation" ADD CONSTRAINT "reputation_agent_id_fkey" FOREIGN KEY ("agent_id") REFERENCES "agents"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "reputation_ledger" ADD CONSTRAINT "reputation_ledger_agent_id_fkey" FOREIGN KEY ("agent_id") REFERENCES "agents"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- What Prisma's schema cannot say.

-- Few units have either.
CREATE INDEX units_attributed_to_idx ON units (attributed_to) WHERE attributed_to IS NOT NULL;
CREATE INDEX units_original_author_idx ON units (original_author) WHERE original_author IS NOT NULL;
CREATE INDEX units_quarantined_at_idx ON units (quarantined_at, id) WHERE quarantined_at IS NOT NULL;
CREATE INDEX skills_quarantined_at_idx ON skills (quarantined_at, id) WHERE quarantined_at IS NOT NULL;

-- Documents and words live beside the rows, so that a look at many rows reads little.
ALTER TABLE units SET (toast_tuple_target = 256);
ALTER TABLE units ALTER COLUMN search SET STORAGE EXTERNAL;
ALTER TABLE skills ALTER COLUMN search SET STORAGE EXTERNAL;
CREATE INDEX units_search_idx ON units USING gin (search);
CREATE INDEX skills_search_idx ON skills USING gin (search);
CREATE INDEX units_unindexed_idx ON units (id) WHERE search IS NULL;

CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE INDEX search_words_word_idx ON search_words USING gin (word gin_trgm_ops);

-- An id that was erased never comes back, whoever inserts it and whatever was under way; once for each statement, because many
-- may come at once. After the insert, because only then a transaction that waited for the erasure's commit sees it.
DROP TRIGGER units_refuse_erased ON units;
DROP FUNCTION units_refuse_erased();
CREATE FUNCTION refuse_erased() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  IF EXISTS (SELECT FROM inserted i JOIN erased_ids e ON e.id = i.id) THEN
    RAISE EXCEPTION 'erased' USING ERRCODE = 'KP410';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER units_refuse_erased AFTER INSERT ON units REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_erased();
CREATE TRIGGER skills_refuse_erased AFTER INSERT ON skills REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_erased();

-- What other domains may know of legal holds: what they cover, unless they ended before the time of the question.
CREATE VIEW holds_in_force AS SELECT kind, target_id, expires_at FROM legal_holds WHERE released_at IS NULL;
