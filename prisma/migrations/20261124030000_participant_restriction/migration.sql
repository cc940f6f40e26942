-- AlterTable
ALTER TABLE "project_participants" ADD COLUMN     "restricted_at" TIMESTAMPTZ(3),
ADD COLUMN     "restricted_for" TEXT[] DEFAULT ARRAY[]::TEXT[];

-- AlterTable
ALTER TABLE "erasure_waits" ADD COLUMN     "refusal" TEXT;

-- Participants whose processing is restricted, by themselves or with the account that claimed the participation.
CREATE VIEW restricted_participants AS
  SELECT p.id, p.project_id FROM project_participants p LEFT JOIN accounts a ON a.id = p.account_id
  WHERE p.restricted_at IS NOT NULL OR a.restricted_at IS NOT NULL;
CREATE VIEW account_restrictions AS SELECT id, restricted_at FROM accounts WHERE restricted_at IS NOT NULL;
