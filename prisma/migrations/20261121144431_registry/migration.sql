-- DropIndex
DROP INDEX "erased_ids_erased_at_idx";

-- AlterTable
ALTER TABLE "erased_ids" ADD COLUMN     "was_public" BOOLEAN NOT NULL DEFAULT false;

-- Nobody noted it until now. An id says little; a copy that nobody is told about stays for ever.
UPDATE "erased_ids" SET "was_public" = true;

-- DropIndex
DROP INDEX "units_agent_id_created_at_idx";

-- DropIndex
DROP INDEX "units_attributed_to_idx";

-- AlterTable; what is there already gets its words from a job.
ALTER TABLE "units" ADD COLUMN     "domain" TEXT,
ADD COLUMN     "novelty" DOUBLE PRECISION,
ADD COLUMN     "original_author" TEXT,
ADD COLUMN     "scope" TEXT GENERATED ALWAYS AS (CASE visibility WHEN 'network'::visibility THEN 'network' WHEN 'org'::visibility THEN 'org:' || organisation_id ELSE 'agent:' || agent_id END) STORED,
ADD COLUMN     "search" tsvector,
ADD COLUMN     "votes_against" DOUBLE PRECISION NOT NULL DEFAULT 0,
ADD COLUMN     "votes_for" DOUBLE PRECISION NOT NULL DEFAULT 0,
ADD COLUMN     "was_public" BOOLEAN NOT NULL DEFAULT false;

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
    "was_public" BOOLEAN NOT NULL DEFAULT false,
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
CREATE TABLE "search_news" (
    "id" TEXT NOT NULL,

    CONSTRAINT "search_news_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "reputation" (
    "agent_id" TEXT NOT NULL,
    "score" DOUBLE PRECISION NOT NULL,
    "day" DATE NOT NULL,
    "gained_today" DOUBLE PRECISION NOT NULL,
    "voted_today" DOUBLE PRECISION NOT NULL,

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
    "interrupted" BOOLEAN NOT NULL DEFAULT false,

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
CREATE INDEX "audit_entries_agent_id_action_at_idx" ON "audit_entries"("agent_id", "action", "at");

-- CreateIndex
CREATE INDEX "retention_sweeps_started_at_id_idx" ON "retention_sweeps"("started_at", "id");

-- CreateIndex
CREATE INDEX "legal_holds_kind_target_id_idx" ON "legal_holds"("kind", "target_id");

-- CreateIndex
CREATE INDEX "legal_holds_created_at_id_idx" ON "legal_holds"("created_at", "id");

-- CreateIndex
CREATE INDEX "erased_ids_erased_at_id_idx" ON "erased_ids"("erased_at", "id");

-- CreateIndex
CREATE INDEX "units_agent_id_created_at_id_idx" ON "units"("agent_id", "created_at", "id");

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
-- Few agents are restricted, and every list asks which.
CREATE INDEX agents_restricted_idx ON agents (id) WHERE restricted_at IS NOT NULL;

-- Documents and words live beside the rows, so that a look at many rows reads little.
ALTER TABLE units SET (toast_tuple_target = 256);
ALTER TABLE units ALTER COLUMN search SET STORAGE EXTERNAL;
ALTER TABLE skills ALTER COLUMN search SET STORAGE EXTERNAL;
-- Partial, though nearly every row has words: Prisma's schema cannot name the kind of the scope in it.
-- With the scope, so that what a reader may not see costs it nothing, and a word's last row in a scope is known from the index alone.
CREATE EXTENSION IF NOT EXISTS btree_gin;
CREATE INDEX units_search_idx ON units USING gin (scope, search) WHERE search IS NOT NULL;
CREATE INDEX skills_tags_idx ON skills USING gin ((front_matter->'tags') jsonb_path_ops);
CREATE INDEX skills_search_idx ON skills USING gin (scope, search) WHERE search IS NOT NULL;
-- SOPs are few beside traces: their list does not walk through the others.
CREATE INDEX units_sops_idx ON units (scope, created_at DESC, id) WHERE type = 'ExpertSOP';
CREATE INDEX units_unindexed_idx ON units (id) WHERE search IS NULL;
CREATE INDEX units_unjudged_idx ON units (id) WHERE novelty IS NULL;

CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE INDEX search_words_word_idx ON search_words USING gin (scope, word gin_trgm_ops) WHERE word IS NOT NULL;

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
CREATE VIEW holds_in_force AS SELECT id, kind, target_id, expires_at FROM legal_holds WHERE released_at IS NULL;

-- What other domains may know of agents: who answers for them, and since when they are here.
CREATE VIEW agent_owners AS SELECT id, owner_id, created_at FROM agents;

-- Every SOP that is there already is in its first wording.
INSERT INTO sop_versions (unit_id, version, document, created_by, created_at)
  SELECT id, 1, document, agent_id, created_at FROM units WHERE type = 'ExpertSOP';

-- The table of words. Whoever adds or takes away words of a scope holds its lock until the commit: a word that is added comes from a row
-- that is there, and of two rows that go at once with the last of a word, the second sees that the first has gone.

-- Rows whose words a job has to gather; ids alone.
CREATE FUNCTION note_words() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  INSERT INTO search_news (id) SELECT id FROM inserted ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE FUNCTION note_words_again() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  INSERT INTO search_news (id) VALUES (NEW.id) ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;

CREATE FUNCTION lock_words(of_scope text) RETURNS void LANGUAGE sql AS
  $$ SELECT pg_advisory_xact_lock(hashtextextended('search_words ' || of_scope, 0)) $$;

-- Which of the words no row of the scope has; rows in `gone` do not count. One look into the index for each: planned for every word
-- anew, it could be a walk through the table.
CREATE FUNCTION words_without_row(of_scope text, words text[], gone text[]) RETURNS SETOF text LANGUAGE plpgsql
  SET search_path = public, pg_temp SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off SET jit = off AS $$
DECLARE
  one text;
  wanted tsquery;
BEGIN
  FOREACH one IN ARRAY words LOOP
    wanted := quote_literal(one)::tsquery;
    IF NOT EXISTS (SELECT FROM units u WHERE u.scope = of_scope AND u.search @@ wanted AND u.id <> ALL (gone))
       AND NOT EXISTS (SELECT FROM skills k WHERE k.scope = of_scope AND k.search @@ wanted AND k.id <> ALL (gone)) THEN
      RETURN NEXT one;
    END IF;
  END LOOP;
END $$;

-- Takes out of the table what no other row has, before the rows go or change, in that transaction. What is common is known from a few
-- other rows; the index is asked for the rest.
CREATE FUNCTION forget_words(gone text[]) RETURNS SETOF search_words LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
  of_scope text;
  words text[];
BEGIN
  FOR of_scope IN SELECT scope FROM units WHERE id = ANY (gone) UNION SELECT scope FROM skills WHERE id = ANY (gone) ORDER BY 1 LOOP
    PERFORM lock_words(of_scope);
    words := ARRAY(
      (SELECT lexeme FROM units u, unnest(u.search) WHERE u.id = ANY (gone) AND u.scope = of_scope
       UNION SELECT lexeme FROM skills k, unnest(k.search) WHERE k.id = ANY (gone) AND k.scope = of_scope)
      EXCEPT SELECT lexeme FROM (
        SELECT o.search FROM units o WHERE o.scope = of_scope AND o.id <> ALL (gone) ORDER BY o.quality_score DESC, o.id LIMIT 40) AS others, unnest(others.search));
    RETURN QUERY DELETE FROM search_words w
      WHERE w.scope = of_scope AND w.word = ANY (ARRAY(SELECT words_without_row(of_scope, words, gone))) RETURNING w.*;
  END LOOP;
END $$;
CREATE FUNCTION forget_words_before() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  PERFORM forget_words(ARRAY[OLD.id]);
  IF TG_TABLE_NAME = 'units' THEN
    NEW.novelty := NULL; -- another text is judged anew
  END IF;
  RETURN NEW;
END $$;
COMMENT ON FUNCTION lock_words(text) IS 'app: what gathers words waits for what takes them away.';
COMMENT ON FUNCTION words_without_row(text, text[], text[]) IS 'app: it looks where the application may look.';
COMMENT ON FUNCTION forget_words(text[]) IS 'app: it deletes what the application may delete.';

CREATE TRIGGER units_note_words AFTER INSERT ON units REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION note_words();
CREATE TRIGGER skills_note_words AFTER INSERT ON skills REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION note_words();
CREATE TRIGGER units_note_words_again AFTER UPDATE OF search, visibility, organisation_id ON units FOR EACH ROW EXECUTE FUNCTION note_words_again();
CREATE TRIGGER skills_note_words_again AFTER UPDATE OF search, visibility, organisation_id ON skills FOR EACH ROW EXECUTE FUNCTION note_words_again();
CREATE TRIGGER units_forget_words BEFORE UPDATE OF search ON units FOR EACH ROW WHEN (OLD.search IS NOT NULL) EXECUTE FUNCTION forget_words_before();
CREATE TRIGGER skills_forget_words BEFORE UPDATE OF search ON skills FOR EACH ROW WHEN (OLD.search IS NOT NULL) EXECUTE FUNCTION forget_words_before();
