-- CreateEnum
CREATE TYPE "agent_status" AS ENUM ('active', 'paused', 'dead');

-- CreateEnum
CREATE TYPE "agent_document_kind" AS ENUM ('strategy_thesis', 'playbook');

-- CreateEnum
CREATE TYPE "delta_state" AS ENUM ('pending', 'delivered', 'recalling', 'recalled', 'expired');

-- CreateEnum
CREATE TYPE "entry_kind" AS ENUM ('episode', 'insight', 'heuristic', 'warning', 'causal_link');

-- CreateEnum
CREATE TYPE "entry_scope" AS ENUM ('private', 'clade');

-- CreateEnum
CREATE TYPE "snapshot_kind" AS ENUM ('on_demand', 'insurance');

-- CreateEnum
CREATE TYPE "snapshot_state" AS ENUM ('preparing', 'ready', 'failed', 'gone');

-- AlterTable
ALTER TABLE "agents" ADD COLUMN     "clade_id" TEXT,
ADD COLUMN     "died_at" TIMESTAMPTZ(3),
ADD COLUMN     "grimoire_days" INTEGER,
ADD COLUMN     "region" TEXT,
ADD COLUMN     "self_hosted" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN     "sharing_since" TIMESTAMPTZ(3),
ADD COLUMN     "status" "agent_status" NOT NULL DEFAULT 'active',
ADD COLUMN     "status_at" TIMESTAMPTZ(3);

-- CreateTable
CREATE TABLE "agent_documents" (
    "id" TEXT NOT NULL,
    "agent_id" TEXT NOT NULL,
    "kind" "agent_document_kind" NOT NULL,
    "title" TEXT NOT NULL,
    "body" TEXT NOT NULL,
    "revision" INTEGER NOT NULL DEFAULT 1,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "agent_documents_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "heartbeats" (
    "seq" BIGSERIAL NOT NULL,
    "agent_id" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "state" TEXT NOT NULL,
    "counts" JSONB NOT NULL DEFAULT '{}',

    CONSTRAINT "heartbeats_pkey" PRIMARY KEY ("seq")
);

-- CreateTable
CREATE TABLE "chain_references" (
    "id" TEXT NOT NULL,
    "agent_id" TEXT NOT NULL,
    "chain" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "reference" TEXT NOT NULL,
    "reported_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "chain_references_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "performance_cards" (
    "agent_id" TEXT NOT NULL,
    "from_at" TIMESTAMPTZ(3) NOT NULL,
    "until_at" TIMESTAMPTZ(3) NOT NULL,
    "returns" DOUBLE PRECISION NOT NULL,
    "sharpe" DOUBLE PRECISION NOT NULL,
    "drawdown" DOUBLE PRECISION NOT NULL,
    "published_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "performance_cards_pkey" PRIMARY KEY ("agent_id")
);

-- CreateTable
CREATE TABLE "clades" (
    "id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "clades_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "clade_shares" (
    "id" TEXT NOT NULL,
    "clade_id" TEXT NOT NULL,
    "agent_id" TEXT NOT NULL,
    "entry_id" TEXT NOT NULL,
    "kind" "entry_kind" NOT NULL,
    "sealed" BYTEA,
    "digest" BYTEA NOT NULL,
    "manifest" TEXT NOT NULL,
    "parents" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "shared_at" TIMESTAMPTZ(3) NOT NULL,
    "recalled_at" TIMESTAMPTZ(3),

    CONSTRAINT "clade_shares_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "clade_deltas" (
    "seq" BIGSERIAL NOT NULL,
    "share_id" TEXT NOT NULL,
    "agent_id" TEXT NOT NULL,
    "state" "delta_state" NOT NULL DEFAULT 'pending',
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "delivered_at" TIMESTAMPTZ(3),
    "acknowledged_at" TIMESTAMPTZ(3),

    CONSTRAINT "clade_deltas_pkey" PRIMARY KEY ("seq")
);

-- CreateTable
CREATE TABLE "keyrings" (
    "agent_id" TEXT NOT NULL,
    "key_id" TEXT NOT NULL,
    "keyring" JSONB NOT NULL,
    "public_key" BYTEA NOT NULL,
    "revision" INTEGER NOT NULL DEFAULT 1,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "keyrings_pkey" PRIMARY KEY ("agent_id")
);

-- CreateTable
CREATE TABLE "grimoire_entries" (
    "id" TEXT NOT NULL,
    "agent_id" TEXT NOT NULL,
    "kind" "entry_kind" NOT NULL,
    "scope" "entry_scope" NOT NULL,
    "envelope" JSONB,
    "sealed" BYTEA,
    "valid_until" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "grimoire_entries_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "llm_log_entries" (
    "id" TEXT NOT NULL,
    "agent_id" TEXT NOT NULL,
    "model" TEXT,
    "sealed" BYTEA NOT NULL,
    "redacted" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "llm_log_entries_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "snapshots" (
    "id" TEXT NOT NULL,
    "agent_id" TEXT NOT NULL,
    "kind" "snapshot_kind" NOT NULL,
    "state" "snapshot_state" NOT NULL DEFAULT 'preparing',
    "key_id" TEXT NOT NULL,
    "object_key" TEXT NOT NULL,
    "bytes" BIGINT,
    "digest" BYTEA,
    "failure" JSONB,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "ready_at" TIMESTAMPTZ(3),
    "expires_at" TIMESTAMPTZ(3),

    CONSTRAINT "snapshots_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "snapshot_links" (
    "token_hash" BYTEA NOT NULL,
    "snapshot_id" TEXT NOT NULL,
    "agent_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "snapshot_links_pkey" PRIMARY KEY ("token_hash")
);

-- CreateTable
CREATE TABLE "state_bundles" (
    "agent_id" TEXT NOT NULL,
    "object_key" TEXT NOT NULL,
    "media_type" TEXT NOT NULL,
    "bytes" BIGINT NOT NULL,
    "digest" BYTEA NOT NULL,
    "uploaded_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "state_bundles_pkey" PRIMARY KEY ("agent_id")
);

-- CreateTable
CREATE TABLE "telemetry_keys" (
    "kind" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "sealed" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "telemetry_keys_pkey" PRIMARY KEY ("kind","id")
);

-- CreateIndex
CREATE INDEX "agent_documents_agent_id_created_at_id_idx" ON "agent_documents"("agent_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "heartbeats_agent_id_at_seq_idx" ON "heartbeats"("agent_id", "at", "seq");

-- CreateIndex
CREATE UNIQUE INDEX "chain_references_agent_id_chain_kind_reference_key" ON "chain_references"("agent_id", "chain", "kind", "reference");

-- CreateIndex
CREATE INDEX "clade_shares_agent_id_shared_at_id_idx" ON "clade_shares"("agent_id", "shared_at", "id");

-- CreateIndex
CREATE INDEX "clade_shares_clade_id_shared_at_id_idx" ON "clade_shares"("clade_id", "shared_at", "id");

-- CreateIndex
CREATE INDEX "clade_shares_parents_idx" ON "clade_shares" USING GIN ("parents");

-- CreateIndex
CREATE INDEX "clade_deltas_agent_id_seq_idx" ON "clade_deltas"("agent_id", "seq");

-- CreateIndex
CREATE INDEX "clade_deltas_state_expires_at_idx" ON "clade_deltas"("state", "expires_at");

-- CreateIndex
CREATE UNIQUE INDEX "clade_deltas_share_id_agent_id_key" ON "clade_deltas"("share_id", "agent_id");

-- CreateIndex
CREATE UNIQUE INDEX "keyrings_key_id_key" ON "keyrings"("key_id");

-- CreateIndex
CREATE INDEX "grimoire_entries_agent_id_created_at_id_idx" ON "grimoire_entries"("agent_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "grimoire_entries_valid_until_idx" ON "grimoire_entries"("valid_until");

-- CreateIndex
CREATE INDEX "llm_log_entries_agent_id_created_at_id_idx" ON "llm_log_entries"("agent_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "llm_log_entries_expires_at_idx" ON "llm_log_entries"("expires_at");

-- CreateIndex
CREATE INDEX "snapshots_agent_id_created_at_id_idx" ON "snapshots"("agent_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "snapshots_expires_at_idx" ON "snapshots"("expires_at");

-- CreateIndex
CREATE INDEX "snapshot_links_snapshot_id_idx" ON "snapshot_links"("snapshot_id");

-- CreateIndex
CREATE INDEX "snapshot_links_expires_at_idx" ON "snapshot_links"("expires_at");

-- CreateIndex
CREATE INDEX "telemetry_keys_expires_at_idx" ON "telemetry_keys"("expires_at");

-- CreateIndex
CREATE INDEX "agents_clade_id_idx" ON "agents"("clade_id");

-- AddForeignKey
ALTER TABLE "agent_documents" ADD CONSTRAINT "agent_documents_agent_id_fkey" FOREIGN KEY ("agent_id") REFERENCES "agents"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "heartbeats" ADD CONSTRAINT "heartbeats_agent_id_fkey" FOREIGN KEY ("agent_id") REFERENCES "agents"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "chain_references" ADD CONSTRAINT "chain_references_agent_id_fkey" FOREIGN KEY ("agent_id") REFERENCES "agents"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "performance_cards" ADD CONSTRAINT "performance_cards_agent_id_fkey" FOREIGN KEY ("agent_id") REFERENCES "agents"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "clade_shares" ADD CONSTRAINT "clade_shares_clade_id_fkey" FOREIGN KEY ("clade_id") REFERENCES "clades"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "clade_shares" ADD CONSTRAINT "clade_shares_agent_id_fkey" FOREIGN KEY ("agent_id") REFERENCES "agents"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "clade_deltas" ADD CONSTRAINT "clade_deltas_agent_id_fkey" FOREIGN KEY ("agent_id") REFERENCES "agents"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "keyrings" ADD CONSTRAINT "keyrings_agent_id_fkey" FOREIGN KEY ("agent_id") REFERENCES "agents"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "grimoire_entries" ADD CONSTRAINT "grimoire_entries_agent_id_fkey" FOREIGN KEY ("agent_id") REFERENCES "agents"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "llm_log_entries" ADD CONSTRAINT "llm_log_entries_agent_id_fkey" FOREIGN KEY ("agent_id") REFERENCES "agents"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "snapshots" ADD CONSTRAINT "snapshots_agent_id_fkey" FOREIGN KEY ("agent_id") REFERENCES "agents"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "snapshot_links" ADD CONSTRAINT "snapshot_links_agent_id_fkey" FOREIGN KEY ("agent_id") REFERENCES "agents"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "state_bundles" ADD CONSTRAINT "state_bundles_agent_id_fkey" FOREIGN KEY ("agent_id") REFERENCES "agents"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- Nothing of an agent is written while it is erased.
CREATE TRIGGER agent_documents_refuse_fenced AFTER INSERT ON agent_documents REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_agent();
CREATE TRIGGER heartbeats_refuse_fenced AFTER INSERT ON heartbeats REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_agent();
CREATE TRIGGER chain_references_refuse_fenced AFTER INSERT ON chain_references REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_agent();
CREATE TRIGGER performance_cards_refuse_fenced AFTER INSERT ON performance_cards REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_agent();
CREATE TRIGGER keyrings_refuse_fenced AFTER INSERT ON keyrings REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_agent();
CREATE TRIGGER grimoire_entries_refuse_fenced AFTER INSERT ON grimoire_entries REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_agent();
CREATE TRIGGER clade_shares_refuse_fenced AFTER INSERT ON clade_shares REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_agent();
CREATE TRIGGER clade_deltas_refuse_fenced AFTER INSERT ON clade_deltas REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_agent();
CREATE TRIGGER snapshots_refuse_fenced AFTER INSERT ON snapshots REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_agent();
CREATE TRIGGER snapshot_links_refuse_fenced AFTER INSERT ON snapshot_links REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_agent();
CREATE TRIGGER state_bundles_refuse_fenced AFTER INSERT ON state_bundles REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_agent();
CREATE TRIGGER llm_log_entries_refuse_fenced AFTER INSERT ON llm_log_entries REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_agent();

-- A key by which somebody is told apart is not made for whom an erasure is under way, or who is gone.
CREATE FUNCTION refuse_fenced_told_apart() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  PERFORM refuse_writers(ARRAY(SELECT CASE kind WHEN 'account' THEN 'user:' || id ELSE id END FROM inserted));
  RETURN NULL;
END $$;
CREATE TRIGGER telemetry_keys_refuse_fenced AFTER INSERT ON telemetry_keys REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_told_apart();

-- Where an agent lives is settled when it is made.
CREATE FUNCTION refuse_other_region() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  RAISE EXCEPTION 'The region of an agent is fixed at its creation' USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER agents_keep_region BEFORE UPDATE OF region ON agents FOR EACH ROW WHEN (OLD.region IS DISTINCT FROM NEW.region) EXECUTE FUNCTION refuse_other_region();
ALTER TABLE agents ADD CONSTRAINT agents_region_known CHECK (region IN ('eu'));
