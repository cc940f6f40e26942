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

-- AlterTable
ALTER TABLE "idempotency_records" ADD COLUMN     "ids" TEXT[];

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
    "network" BYTEA,

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
    "bearer" TEXT,

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
CREATE INDEX "idempotency_records_ids_idx" ON "idempotency_records" USING GIN ("ids");

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
CREATE INDEX units_validated_by_idx ON units USING gin ((document->'metadata'->'validated_by') jsonb_path_ops)
  WHERE document->'metadata'->'validated_by' IS NOT NULL;
-- Whom a wording came from: a former one may name another expert than the present one.
CREATE INDEX sop_versions_expert_idx ON sop_versions ((document->'source'->>'expert_id'));
-- Votes that do not count yet: few, and a job looks at them by the hour.
CREATE INDEX unit_votes_waiting_idx ON unit_votes (unit_id) WHERE weight = 0;
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

-- The units and skills that a stored answer names, read from its own text, whatever its columns say of it: what an erasure is verified by.
CREATE FUNCTION ids_in_answer(body jsonb, headers jsonb) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT ARRAY(SELECT DISTINCT 'kp:' || substring(piece FROM '^(?:trace|pattern|sop|skill):[A-Za-z0-9_-]{1,64}')
    FROM unnest(string_to_array(coalesce(body::text, '') || headers::text, 'kp:')) AS piece
    WHERE piece ~ '^(?:trace|pattern|sop|skill):[A-Za-z0-9_-]')
$$;
COMMENT ON FUNCTION ids_in_answer IS 'app: erasures are verified by it, and stored answers indexed';
UPDATE idempotency_records SET ids = ids_in_answer(body, headers);
DROP INDEX idempotency_records_body_id_idx;
CREATE INDEX idempotency_records_answer_idx ON idempotency_records USING gin (ids_in_answer(body, headers));

-- What other domains may know of legal holds: what they cover, unless they ended before the time of the question.
CREATE VIEW holds_in_force AS SELECT id, kind, target_id, expires_at FROM legal_holds WHERE released_at IS NULL;

-- What other domains may know of agents: who answers for them, and since when they are here.
CREATE VIEW agent_owners AS SELECT id, owner_id, created_at FROM agents;

-- Every SOP that is there already is in its first wording.
INSERT INTO sop_versions (unit_id, version, document, created_by, created_at)
  SELECT id, 1, document, agent_id, created_at FROM units WHERE type = 'ExpertSOP';

-- The table of words. Every word in it names one bearer, a unit or skill that is there and has it, and goes with this bearer in the same
-- transaction: no word outlasts the last that has it. Where others have it too, a job finds it again.
-- Whoever adds words holds their bearers' rows (FOR SHARE, skipping those that somebody else holds); whoever takes words away holds the
-- bearer's row too and touches no others. So nobody who changes or erases a row waits for anything but that row.
ALTER TABLE search_words ADD CHECK (word = '' OR bearer IS NOT NULL);
CREATE INDEX search_words_bearer_idx ON search_words (bearer) WHERE bearer IS NOT NULL;

-- Rows whose words a job has to gather; ids alone.
CREATE FUNCTION note_words() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  INSERT INTO search_news (id) SELECT id FROM inserted ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;

-- After the rows went or changed, when this transaction holds them.
CREATE FUNCTION forget_words(gone text[]) RETURNS void LANGUAGE plpgsql SET search_path = public, pg_temp SET enable_seqscan = off AS $$
BEGIN
  DELETE FROM search_news WHERE id = ANY (gone);
  DELETE FROM search_words WHERE bearer = ANY (gone);
END $$;
CREATE FUNCTION forget_gone_words() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  PERFORM forget_words(ARRAY(SELECT id FROM gone));
  RETURN NULL;
END $$;
CREATE FUNCTION forget_former_words() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  PERFORM forget_words(ARRAY[NEW.id]);
  INSERT INTO search_news (id) VALUES (NEW.id) ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
-- Another text is judged anew.
CREATE FUNCTION judge_again() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.novelty := NULL;
  RETURN NEW;
END $$;

-- The words of a text that are kept: its first thousand by weight and place, and no data (long, or digits between letters).
CREATE FUNCTION kept_words(search tsvector) RETURNS SETOF text LANGUAGE sql IMMUTABLE AS $$
  SELECT lexeme FROM unnest(search) WHERE char_length(lexeme) <= 32 AND lexeme ~ '^[^0-9]*[0-9]{0,4}$' ORDER BY positions[1], lexeme LIMIT 1000
$$;
-- Where the words of a row stand. Of what is held back only its author learns anything, by counts neither.
CREATE FUNCTION words_scope(scope text, agent_id text, quarantined_at timestamptz) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN quarantined_at IS NULL AND NOT EXISTS (SELECT FROM public.restricted_agents r WHERE r.id = agent_id) THEN scope ELSE 'agent:' || agent_id END
$$;

-- Adds the words of these rows, except of those that somebody else holds; with `seen` only words that are missing, and these rows are
-- what was noticed among so many. Gives the ids whose words were added.
CREATE FUNCTION add_words(batch text[], seen integer) RETURNS text[] LANGUAGE sql SET search_path = public, pg_temp SET jit = off
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
  WITH of_units AS MATERIALIZED (
      SELECT id, scope, agent_id, quarantined_at, search FROM units WHERE id = ANY (batch) FOR SHARE SKIP LOCKED),
    of_skills AS MATERIALIZED (
      SELECT id, scope, agent_id, quarantined_at, search FROM skills WHERE id = ANY (batch) FOR SHARE SKIP LOCKED),
    fresh AS MATERIALIZED (
      SELECT id, words_scope(scope, agent_id, quarantined_at) AS scope, search
      FROM (SELECT * FROM of_units UNION ALL SELECT * FROM of_skills) AS locked),
    words AS MATERIALIZED (
      SELECT scope, word, count(*)::int AS n, min(id) AS bearer FROM fresh CROSS JOIN LATERAL kept_words(search) AS k(word) GROUP BY scope, word),
    added AS (
      INSERT INTO search_words (scope, word, units, bearer)
      -- What many of a sample have, as many of all have.
      SELECT w.scope, w.word, CASE WHEN seen > 0 AND n >= 10 THEN n * greatest(1, (
          SELECT r.units FROM search_words r WHERE r.scope = w.scope AND r.word = '') / seen) ELSE n END, bearer
      FROM words w WHERE seen IS NULL OR NOT EXISTS (SELECT FROM search_words h WHERE h.scope = w.scope AND h.word = w.word)
      UNION ALL SELECT scope, '', count(*)::int, NULL FROM fresh WHERE seen IS NULL GROUP BY scope
      ORDER BY 1, 2
      ON CONFLICT (scope, word) DO UPDATE SET units = search_words.units + excluded.units)
  SELECT coalesce(array_agg(id), '{}') FROM fresh
$$;
-- One at a time. It gives way: who erases never waits long for it. Gives how many rows were settled; 0 also where it gave way.
CREATE FUNCTION gather_words(most integer) RETURNS integer LANGUAGE plpgsql SET search_path = public, pg_temp SET lock_timeout = '300ms' AS $$
DECLARE
  batch text[];
  taken text[];
  settled integer;
BEGIN
  IF NOT pg_try_advisory_xact_lock(hashtextextended('search_words', 0)) THEN
    RETURN 0;
  END IF;
  batch := ARRAY(SELECT id FROM search_news ORDER BY id LIMIT most);
  taken := add_words(batch, NULL);
  DELETE FROM search_news n WHERE n.id = ANY (batch) AND (n.id = ANY (taken)
    OR NOT EXISTS (SELECT FROM units u WHERE u.id = n.id) AND NOT EXISTS (SELECT FROM skills k WHERE k.id = n.id));
  GET DIAGNOSTICS settled = ROW_COUNT;
  RETURN settled;
EXCEPTION WHEN lock_not_available THEN
  RETURN 0;
END $$;
-- Finds again, among so many rows after this id, words that went with their bearer. Gives the last id looked at; NULL after the last row.
CREATE FUNCTION find_words_again(after text, most integer) RETURNS text LANGUAGE plpgsql SET search_path = public, pg_temp SET lock_timeout = '300ms'
  SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  looked text[];
  missing text[];
BEGIN
  looked := ARRAY(SELECT id FROM (
    (SELECT id FROM units WHERE id > after ORDER BY id LIMIT most) UNION ALL (SELECT id FROM skills WHERE id > after ORDER BY id LIMIT most)) AS both_of
    ORDER BY id LIMIT most);
  missing := ARRAY(
    WITH rows AS MATERIALIZED (
        SELECT id, words_scope(scope, agent_id, quarantined_at) AS scope, search FROM (
          SELECT id, scope, agent_id, quarantined_at, search FROM units WHERE id = ANY (looked)
          UNION ALL SELECT id, scope, agent_id, quarantined_at, search FROM skills WHERE id = ANY (looked)) AS both_of),
      words AS MATERIALIZED (SELECT scope, word, array_agg(id) AS bearers FROM rows CROSS JOIN LATERAL kept_words(search) AS k(word) GROUP BY scope, word)
    SELECT DISTINCT id FROM words o CROSS JOIN LATERAL unnest(bearers) AS b(id)
    WHERE NOT EXISTS (SELECT FROM search_words w WHERE w.scope = o.scope AND w.word = o.word)
      AND NOT EXISTS (SELECT FROM search_news n WHERE n.id = b.id));
  IF cardinality(missing) > 0 THEN
    PERFORM add_words(missing, cardinality(looked));
  END IF;
  RETURN looked[most];
EXCEPTION WHEN lock_not_available THEN
  RETURN looked[most];
END $$;
COMMENT ON FUNCTION forget_words(text[]) IS 'app: it deletes what the application may delete.';
COMMENT ON FUNCTION kept_words(tsvector) IS 'app: it reads what it is given.';
COMMENT ON FUNCTION words_scope(text, text, timestamptz) IS 'app: it looks where the application may look.';
COMMENT ON FUNCTION add_words(text[], integer) IS 'app: it writes what the application may write.';
COMMENT ON FUNCTION gather_words(integer) IS 'app: it writes what the application may write.';
COMMENT ON FUNCTION find_words_again(text, integer) IS 'app: it writes what the application may write.';

CREATE TRIGGER units_note_words AFTER INSERT ON units REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION note_words();
CREATE TRIGGER skills_note_words AFTER INSERT ON skills REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION note_words();
CREATE TRIGGER units_forget_gone_words AFTER DELETE ON units REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION forget_gone_words();
CREATE TRIGGER skills_forget_gone_words AFTER DELETE ON skills REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION forget_gone_words();
CREATE TRIGGER units_forget_former_words AFTER UPDATE OF search, visibility, organisation_id, quarantined_at ON units FOR EACH ROW EXECUTE FUNCTION forget_former_words();
CREATE TRIGGER skills_forget_former_words AFTER UPDATE OF search, visibility, organisation_id, quarantined_at ON skills FOR EACH ROW EXECUTE FUNCTION forget_former_words();
CREATE TRIGGER units_judge_again BEFORE UPDATE OF search ON units FOR EACH ROW WHEN (OLD.search IS NOT NULL) EXECUTE FUNCTION judge_again();
