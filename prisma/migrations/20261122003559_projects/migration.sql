-- CreateEnum
CREATE TYPE "project_status" AS ENUM ('active', 'closing', 'closed');

-- CreateEnum
CREATE TYPE "project_role" AS ENUM ('owner', 'member');

-- AlterTable
ALTER TABLE "erasure_runs" ADD COLUMN     "audit_id" TEXT,
ADD COLUMN     "conversation_id" TEXT,
ADD COLUMN     "fault" TEXT,
ADD COLUMN     "late_found" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "part_id" TEXT,
ADD COLUMN     "part_kind" TEXT,
ADD COLUMN     "project_id" TEXT,
ADD COLUMN     "projects" TEXT[] DEFAULT ARRAY[]::TEXT[],
ADD COLUMN     "recheck_at" TIMESTAMPTZ(3),
ADD COLUMN     "rechecked_at" TIMESTAMPTZ(3),
ADD COLUMN     "redacts" BOOLEAN NOT NULL DEFAULT false;

-- AlterTable
ALTER TABLE "erasure_pages" ADD COLUMN     "is_watched" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN     "stays" BOOLEAN NOT NULL DEFAULT false;

-- AlterTable
ALTER TABLE "erasure_steps" ADD COLUMN     "results" JSONB NOT NULL DEFAULT '{}';

-- CreateTable
CREATE TABLE "remaining_mentions" (
    "run_id" TEXT NOT NULL,
    "store" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "field" TEXT NOT NULL,
    "is_redacted" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "remaining_mentions_pkey" PRIMARY KEY ("run_id","store","kind","id","field")
);

-- CreateTable
CREATE TABLE "projects" (
    "id" TEXT NOT NULL,
    "organisation_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "status" "project_status" NOT NULL DEFAULT 'active',
    "group_id" TEXT NOT NULL,
    "region" TEXT,
    "entity_kinds" JSONB NOT NULL DEFAULT '{}',
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    "closing_at" TIMESTAMPTZ(3),
    "closes_at" TIMESTAMPTZ(3),
    "closing_by" TEXT,
    "letters_sent" INTEGER NOT NULL DEFAULT 0,
    "closed_at" TIMESTAMPTZ(3),
    "receipt_id" TEXT,
    "erasing_since" TIMESTAMPTZ(3),

    CONSTRAINT "projects_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "project_members" (
    "project_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "member_id" TEXT NOT NULL,
    "role" "project_role" NOT NULL DEFAULT 'member',
    "added_by" TEXT NOT NULL,
    "added_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "project_members_pkey" PRIMARY KEY ("project_id","kind","member_id")
);

-- CreateTable
CREATE TABLE "conversations" (
    "id" TEXT NOT NULL,
    "project_id" TEXT NOT NULL,
    "title" TEXT NOT NULL,
    "threads" TEXT[],
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    "erasing_since" TIMESTAMPTZ(3),

    CONSTRAINT "conversations_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "messages" (
    "id" TEXT NOT NULL,
    "project_id" TEXT NOT NULL,
    "conversation_id" TEXT NOT NULL,
    "role" TEXT NOT NULL,
    "author_kind" TEXT NOT NULL,
    "author_id" TEXT NOT NULL,
    "content" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    "erasing_since" TIMESTAMPTZ(3),

    CONSTRAINT "messages_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "message_edits" (
    "id" TEXT NOT NULL,
    "message_id" TEXT NOT NULL,
    "content" TEXT NOT NULL,
    "edited_by" TEXT NOT NULL,
    "edited_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "message_edits_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "attachments" (
    "id" TEXT NOT NULL,
    "message_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "media_type" TEXT NOT NULL,
    "bytes" INTEGER NOT NULL,
    "sha256" BYTEA NOT NULL,
    "object_key" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "attachments_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "documents" (
    "id" TEXT NOT NULL,
    "project_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "media_type" TEXT NOT NULL,
    "bytes" INTEGER NOT NULL,
    "sha256" BYTEA NOT NULL,
    "object_key" TEXT NOT NULL,
    "made_from" TEXT,
    "author_kind" TEXT NOT NULL,
    "author_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    "erasing_since" TIMESTAMPTZ(3),

    CONSTRAINT "documents_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "document_chunks" (
    "document_id" TEXT NOT NULL,
    "position" INTEGER NOT NULL,
    "content" TEXT NOT NULL,

    CONSTRAINT "document_chunks_pkey" PRIMARY KEY ("document_id","position")
);

-- CreateTable
CREATE TABLE "provenance" (
    "id" TEXT NOT NULL,
    "project_id" TEXT NOT NULL,
    "source_kind" TEXT NOT NULL,
    "source_id" TEXT NOT NULL,
    "store" TEXT NOT NULL,
    "ref" TEXT NOT NULL,
    "place" TEXT NOT NULL DEFAULT '',
    "ended" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "told_by" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "provenance_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "known_stores" (
    "id" TEXT NOT NULL,
    "port" TEXT NOT NULL,
    "provider" TEXT NOT NULL,
    "address" TEXT NOT NULL,
    "shown" TEXT NOT NULL,
    "first_seen" TIMESTAMPTZ(3) NOT NULL,
    "last_seen" TIMESTAMPTZ(3) NOT NULL,
    "retired_at" TIMESTAMPTZ(3),
    "retired_by" TEXT,
    "statement" TEXT,

    CONSTRAINT "known_stores_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "graph_episodes" (
    "group_id" TEXT NOT NULL,
    "uuid" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "source" TEXT NOT NULL,
    "source_description" TEXT NOT NULL,
    "content" TEXT NOT NULL,
    "entity_edges" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "valid_at" TIMESTAMPTZ(3) NOT NULL,
    "metadata" JSONB NOT NULL DEFAULT '{}',

    CONSTRAINT "graph_episodes_pkey" PRIMARY KEY ("group_id","uuid")
);

-- CreateTable
CREATE TABLE "graph_entities" (
    "group_id" TEXT NOT NULL,
    "uuid" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "labels" TEXT[],
    "summary" TEXT NOT NULL,
    "name_embedding" DOUBLE PRECISION[],
    "attributes" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "graph_entities_pkey" PRIMARY KEY ("group_id","uuid")
);

-- CreateTable
CREATE TABLE "graph_facts" (
    "group_id" TEXT NOT NULL,
    "uuid" TEXT NOT NULL,
    "source" TEXT NOT NULL,
    "target" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "fact" TEXT NOT NULL,
    "fact_embedding" DOUBLE PRECISION[],
    "episodes" TEXT[],
    "attributes" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "valid_at" TIMESTAMPTZ(3),
    "invalid_at" TIMESTAMPTZ(3),
    "expired_at" TIMESTAMPTZ(3),
    "reference_time" TIMESTAMPTZ(3),

    CONSTRAINT "graph_facts_pkey" PRIMARY KEY ("group_id","uuid")
);

-- CreateTable
CREATE TABLE "graph_mentions" (
    "group_id" TEXT NOT NULL,
    "episode" TEXT NOT NULL,
    "entity" TEXT NOT NULL,

    CONSTRAINT "graph_mentions_pkey" PRIMARY KEY ("group_id","episode","entity")
);

-- CreateTable
CREATE TABLE "graph_gatherings" (
    "group_id" TEXT NOT NULL,
    "uuid" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "summary" TEXT NOT NULL,
    "name_embedding" DOUBLE PRECISION[],
    "first_episode" TEXT,
    "last_episode" TEXT,
    "summarized_to" TIMESTAMPTZ(3),
    "attributes" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "graph_gatherings_pkey" PRIMARY KEY ("group_id","uuid")
);

-- CreateTable
CREATE TABLE "graph_links" (
    "group_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "source" TEXT NOT NULL,
    "target" TEXT NOT NULL,

    CONSTRAINT "graph_links_pkey" PRIMARY KEY ("group_id","kind","source","target")
);

-- CreateIndex
CREATE UNIQUE INDEX "projects_group_id_key" ON "projects"("group_id");

-- CreateIndex
CREATE INDEX "projects_organisation_id_created_at_id_idx" ON "projects"("organisation_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "projects_status_closes_at_idx" ON "projects"("status", "closes_at");

-- CreateIndex
CREATE INDEX "projects_created_by_idx" ON "projects"("created_by");

-- CreateIndex
CREATE INDEX "project_members_kind_member_id_idx" ON "project_members"("kind", "member_id");

-- CreateIndex
CREATE INDEX "project_members_added_by_idx" ON "project_members"("added_by");

-- CreateIndex
CREATE INDEX "conversations_project_id_created_at_id_idx" ON "conversations"("project_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "conversations_created_by_idx" ON "conversations"("created_by");

-- CreateIndex
CREATE INDEX "conversations_threads_idx" ON "conversations" USING GIN ("threads");

-- CreateIndex
CREATE INDEX "messages_conversation_id_created_at_id_idx" ON "messages"("conversation_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "messages_project_id_id_idx" ON "messages"("project_id", "id");

-- CreateIndex
CREATE INDEX "messages_author_kind_author_id_created_at_id_idx" ON "messages"("author_kind", "author_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "message_edits_message_id_edited_at_id_idx" ON "message_edits"("message_id", "edited_at", "id");

-- CreateIndex
CREATE INDEX "message_edits_edited_by_idx" ON "message_edits"("edited_by");

-- CreateIndex
CREATE UNIQUE INDEX "attachments_object_key_key" ON "attachments"("object_key");

-- CreateIndex
CREATE INDEX "attachments_message_id_idx" ON "attachments"("message_id");

-- CreateIndex
CREATE UNIQUE INDEX "documents_object_key_key" ON "documents"("object_key");

-- CreateIndex
CREATE INDEX "documents_project_id_kind_created_at_id_idx" ON "documents"("project_id", "kind", "created_at", "id");

-- CreateIndex
CREATE INDEX "documents_made_from_idx" ON "documents"("made_from");

-- CreateIndex
CREATE INDEX "documents_author_kind_author_id_created_at_id_idx" ON "documents"("author_kind", "author_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "provenance_store_ref_idx" ON "provenance"("store", "ref");

-- CreateIndex
CREATE INDEX "provenance_place_idx" ON "provenance"("place");

-- CreateIndex
CREATE INDEX "provenance_project_id_idx" ON "provenance"("project_id");

-- CreateIndex
CREATE INDEX "provenance_told_by_idx" ON "provenance"("told_by");

-- CreateIndex
CREATE UNIQUE INDEX "provenance_source_id_store_place_ref_key" ON "provenance"("source_id", "store", "place", "ref");

-- CreateIndex
CREATE UNIQUE INDEX "known_stores_port_address_key" ON "known_stores"("port", "address");

-- CreateIndex
CREATE INDEX "graph_episodes_uuid_idx" ON "graph_episodes"("uuid");

-- CreateIndex
CREATE INDEX "graph_episodes_entity_edges_idx" ON "graph_episodes" USING GIN ("entity_edges");

-- CreateIndex
CREATE INDEX "graph_facts_group_id_expired_at_idx" ON "graph_facts"("group_id", "expired_at");

-- CreateIndex
CREATE INDEX "graph_gatherings_group_id_first_episode_idx" ON "graph_gatherings"("group_id", "first_episode");

-- CreateIndex
CREATE INDEX "graph_gatherings_group_id_last_episode_idx" ON "graph_gatherings"("group_id", "last_episode");

-- CreateIndex
CREATE INDEX "graph_facts_group_id_source_idx" ON "graph_facts"("group_id", "source");

-- CreateIndex
CREATE INDEX "graph_facts_group_id_target_idx" ON "graph_facts"("group_id", "target");

-- CreateIndex
CREATE INDEX "graph_facts_episodes_idx" ON "graph_facts" USING GIN ("episodes");

-- CreateIndex
CREATE INDEX "graph_mentions_group_id_entity_episode_idx" ON "graph_mentions"("group_id", "entity", "episode");

-- CreateIndex
CREATE INDEX "graph_links_group_id_kind_target_idx" ON "graph_links"("group_id", "kind", "target");

-- CreateIndex
CREATE UNIQUE INDEX "erasure_runs_audit_id_key" ON "erasure_runs"("audit_id");

-- CreateIndex
CREATE INDEX "erasure_runs_project_id_created_at_idx" ON "erasure_runs"("project_id", "created_at");

-- CreateIndex
CREATE INDEX "erasure_runs_recheck_at_idx" ON "erasure_runs"("recheck_at");

-- CreateIndex
CREATE INDEX "erasure_runs_requested_by_idx" ON "erasure_runs"("requested_by");

-- AddForeignKey
ALTER TABLE "remaining_mentions" ADD CONSTRAINT "remaining_mentions_run_id_fkey" FOREIGN KEY ("run_id") REFERENCES "erasure_runs"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "project_members" ADD CONSTRAINT "project_members_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "conversations" ADD CONSTRAINT "conversations_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "messages" ADD CONSTRAINT "messages_conversation_id_fkey" FOREIGN KEY ("conversation_id") REFERENCES "conversations"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "message_edits" ADD CONSTRAINT "message_edits_message_id_fkey" FOREIGN KEY ("message_id") REFERENCES "messages"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "attachments" ADD CONSTRAINT "attachments_message_id_fkey" FOREIGN KEY ("message_id") REFERENCES "messages"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "documents" ADD CONSTRAINT "documents_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "document_chunks" ADD CONSTRAINT "document_chunks_document_id_fkey" FOREIGN KEY ("document_id") REFERENCES "documents"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Whoever writes into a project: the writer may not be fenced, nor what is written into. Rows above are locked by foreign keys (or here), and
-- an erasure takes them FOR UPDATE before it marks them, so that who is writing is waited for and who comes later sees the mark.
CREATE FUNCTION writer_name(kind text, id text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE kind WHEN 'account' THEN 'user:' || id ELSE id END
$$;
COMMENT ON FUNCTION writer_name(text, text) IS 'app: its triggers call it';
CREATE FUNCTION refuse_into_projects(ids text[]) RETURNS void LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  IF EXISTS (SELECT FROM projects p WHERE p.id = ANY(ids) AND (p.erasing_since IS NOT NULL OR p.status = 'closed')) THEN
    RAISE EXCEPTION 'fenced' USING ERRCODE = 'KP423';
  END IF;
END $$;
COMMENT ON FUNCTION refuse_into_projects(text[]) IS 'app: its triggers call it';
CREATE FUNCTION refuse_erased_ids(ids text[]) RETURNS void LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  IF EXISTS (SELECT FROM erased_ids e WHERE e.id = ANY(ids)) THEN
    RAISE EXCEPTION 'erased' USING ERRCODE = 'KP410';
  END IF;
END $$;
COMMENT ON FUNCTION refuse_erased_ids(text[]) IS 'app: its triggers call it';

CREATE FUNCTION refuse_fenced_project() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  PERFORM refuse_writers(ARRAY(SELECT created_by FROM inserted));
  PERFORM refuse_erased_ids(ARRAY(SELECT id FROM inserted));
  RETURN NULL;
END $$;
CREATE FUNCTION refuse_fenced_member() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  PERFORM refuse_writers(ARRAY(SELECT writer_name(kind, member_id) FROM inserted));
  PERFORM refuse_into_projects(ARRAY(SELECT project_id FROM inserted));
  RETURN NULL;
END $$;
CREATE FUNCTION refuse_fenced_conversation() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  PERFORM refuse_writers(ARRAY(SELECT created_by FROM inserted));
  PERFORM refuse_erased_ids(ARRAY(SELECT id FROM inserted));
  PERFORM refuse_into_projects(ARRAY(SELECT project_id FROM inserted));
  RETURN NULL;
END $$;
CREATE FUNCTION refuse_fenced_message() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  PERFORM refuse_writers(ARRAY(SELECT DISTINCT writer_name(author_kind, author_id) FROM inserted));
  PERFORM refuse_erased_ids(ARRAY(SELECT id FROM inserted));
  PERFORM FROM projects WHERE id IN (SELECT project_id FROM inserted) ORDER BY id FOR KEY SHARE;
  PERFORM refuse_into_projects(ARRAY(SELECT DISTINCT project_id FROM inserted));
  IF EXISTS (SELECT FROM inserted i JOIN conversations c ON c.id = i.conversation_id WHERE c.erasing_since IS NOT NULL) THEN
    RAISE EXCEPTION 'fenced' USING ERRCODE = 'KP423';
  END IF;
  RETURN NULL;
END $$;
CREATE FUNCTION refuse_fenced_of_message() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  PERFORM refuse_writers(ARRAY(SELECT DISTINCT writer_name(m.author_kind, m.author_id) FROM inserted i JOIN messages m ON m.id = i.message_id));
  IF EXISTS (SELECT FROM inserted i JOIN messages m ON m.id = i.message_id JOIN conversations c ON c.id = m.conversation_id
      JOIN projects p ON p.id = m.project_id
      WHERE m.erasing_since IS NOT NULL OR c.erasing_since IS NOT NULL OR p.erasing_since IS NOT NULL) THEN
    RAISE EXCEPTION 'fenced' USING ERRCODE = 'KP423';
  END IF;
  RETURN NULL;
END $$;
CREATE FUNCTION refuse_fenced_document() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  PERFORM refuse_writers(ARRAY(SELECT DISTINCT writer_name(author_kind, author_id) FROM inserted));
  PERFORM refuse_erased_ids(ARRAY(SELECT id FROM inserted));
  PERFORM refuse_into_projects(ARRAY(SELECT DISTINCT project_id FROM inserted));
  PERFORM FROM messages WHERE id IN (SELECT made_from FROM inserted) ORDER BY id FOR KEY SHARE;
  IF EXISTS (SELECT FROM inserted i WHERE i.made_from IS NOT NULL AND NOT EXISTS (
      SELECT FROM messages m JOIN conversations c ON c.id = m.conversation_id
      WHERE m.id = i.made_from AND m.project_id = i.project_id AND m.erasing_since IS NULL AND c.erasing_since IS NULL)) THEN
    RAISE EXCEPTION 'fenced' USING ERRCODE = 'KP423';
  END IF;
  RETURN NULL;
END $$;
CREATE FUNCTION refuse_fenced_chunk() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  IF EXISTS (SELECT FROM inserted i JOIN documents d ON d.id = i.document_id JOIN projects p ON p.id = d.project_id
      WHERE d.erasing_since IS NOT NULL OR p.erasing_since IS NOT NULL) THEN
    RAISE EXCEPTION 'fenced' USING ERRCODE = 'KP423';
  END IF;
  RETURN NULL;
END $$;
-- A pointer has no foreign key, because it may be about a message or a document: its source is locked here, and must be there.
-- Nor is it written while whoever wrote its source is erased: it would be found no more once the source is gone.
CREATE FUNCTION refuse_fenced_pointer() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  PERFORM refuse_writers(ARRAY(
    SELECT writer_name(m.author_kind, m.author_id) FROM inserted i JOIN messages m ON i.source_kind = 'message' AND m.id = i.source_id
    UNION SELECT writer_name(d.author_kind, d.author_id) FROM inserted i JOIN documents d ON i.source_kind = 'document' AND d.id = i.source_id));
  PERFORM refuse_erased_ids(ARRAY(SELECT DISTINCT source_id FROM inserted));
  PERFORM FROM messages WHERE id IN (SELECT source_id FROM inserted WHERE source_kind = 'message') ORDER BY id FOR KEY SHARE;
  PERFORM FROM documents WHERE id IN (SELECT source_id FROM inserted WHERE source_kind = 'document') ORDER BY id FOR KEY SHARE;
  IF EXISTS (SELECT FROM inserted i WHERE NOT EXISTS (
      SELECT FROM messages m JOIN conversations c ON c.id = m.conversation_id JOIN projects p ON p.id = m.project_id
        WHERE i.source_kind = 'message' AND m.id = i.source_id
          AND m.erasing_since IS NULL AND c.erasing_since IS NULL AND p.erasing_since IS NULL
      UNION ALL SELECT FROM documents d JOIN projects p ON p.id = d.project_id
        WHERE i.source_kind = 'document' AND d.id = i.source_id AND d.erasing_since IS NULL AND p.erasing_since IS NULL)) THEN
    RAISE EXCEPTION 'fenced' USING ERRCODE = 'KP423';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER projects_refuse_fenced AFTER INSERT ON projects REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_project();
CREATE TRIGGER project_members_refuse_fenced AFTER INSERT ON project_members REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_member();
CREATE TRIGGER conversations_refuse_fenced AFTER INSERT ON conversations REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_conversation();
CREATE TRIGGER messages_refuse_fenced AFTER INSERT ON messages REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_message();
CREATE TRIGGER message_edits_refuse_fenced AFTER INSERT ON message_edits REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_of_message();
CREATE TRIGGER attachments_refuse_fenced AFTER INSERT ON attachments REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_of_message();
CREATE TRIGGER documents_refuse_fenced AFTER INSERT ON documents REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_document();
CREATE TRIGGER document_chunks_refuse_fenced AFTER INSERT ON document_chunks REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_chunk();
CREATE TRIGGER provenance_refuse_fenced AFTER INSERT ON provenance REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_pointer();

-- What other domains may know of people and agents: what they are called, where they belong, and who manages an organisation.
CREATE VIEW account_names AS SELECT id, organisation_id, name, role::text AS role, deactivated_at IS NULL AS is_open FROM accounts;
CREATE VIEW agent_names AS SELECT id, organisation_id, name, owner_id FROM agents;

-- What other domains may know of projects: which there are, where each part lies, and who wrote it.
CREATE VIEW project_parts AS
  SELECT 'project'::text AS kind, id, id AS project_id, NULL::text AS conversation_id, NULL::text AS author_kind, NULL::text AS author_id, created_at FROM projects
  UNION ALL SELECT 'conversation', id, project_id, id, NULL, NULL, created_at FROM conversations
  UNION ALL SELECT 'message', id, project_id, conversation_id, author_kind, author_id, created_at FROM messages
  UNION ALL SELECT 'document', id, project_id, NULL, author_kind, author_id, created_at FROM documents;

-- The words of a text of the graph, by which a name or an id is looked for in it, and the group, so that one condition says both and no
-- other index is taken for it: runs of Latin letters and digits, of 64 at most; every other character is one.
CREATE FUNCTION graph_words(group_id text, said text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT array_append(array_remove(string_to_array(
    regexp_replace(lower(said), '([^\u0001-\u007f]|[a-z0-9]{64})|[^a-z0-9]+', ' \1 ', 'g'), ' '), ''), '/' || group_id)
$$;
COMMENT ON FUNCTION graph_words(text, text) IS 'app: texts of the graph are indexed by it';
CREATE INDEX graph_episodes_words_idx ON graph_episodes USING gin (graph_words(group_id, name || ' ' || source_description || ' ' || content || ' ' || metadata::text));
CREATE INDEX graph_entities_words_idx ON graph_entities USING gin (graph_words(group_id, name || ' ' || summary || ' ' || attributes::text));
CREATE INDEX graph_facts_words_idx ON graph_facts USING gin (graph_words(group_id, name || ' ' || fact || ' ' || attributes::text));
CREATE INDEX graph_gatherings_words_idx ON graph_gatherings USING gin (graph_words(group_id, name || ' ' || summary || ' ' || attributes::text));
