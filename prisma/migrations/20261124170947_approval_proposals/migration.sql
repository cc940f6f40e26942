-- Actions of admins that wait for the approval of a second admin. `content` is sealed, and deleted when the proposal is closed.
CREATE TABLE "approval_proposals" (
    "id" TEXT NOT NULL,
    "operation" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "subject_ids" TEXT[] NOT NULL DEFAULT ARRAY[]::TEXT[],
    "decided_by" TEXT,
    "content" BYTEA,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "decided_at" TIMESTAMPTZ(3),
    "carried_out_at" TIMESTAMPTZ(3),
    CONSTRAINT "approval_proposals_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "approval_proposals_status" CHECK (status IN ('waiting', 'approved', 'carried_out', 'rejected', 'withdrawn', 'outdated', 'expired')),
    CONSTRAINT "approval_proposals_not_own" CHECK (decided_by IS DISTINCT FROM account_id),
    CONSTRAINT "approval_proposals_approved" CHECK (status NOT IN ('approved', 'carried_out') OR decided_by IS NOT NULL),
    CONSTRAINT "approval_proposals_content" CHECK ((content IS NOT NULL) = (status IN ('waiting', 'approved')))
);
CREATE INDEX "approval_proposals_account_id_idx" ON "approval_proposals"("account_id");
CREATE INDEX "approval_proposals_created_at_idx" ON "approval_proposals"("created_at");

-- Nothing is added to an account while it is being erased.
CREATE TRIGGER approval_proposals_refuse_fenced AFTER INSERT ON approval_proposals REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_account();
