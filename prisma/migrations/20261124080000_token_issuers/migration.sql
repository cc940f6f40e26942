-- The token with which a token was created: the revocation of one revokes the other. Existing tokens have none.
ALTER TABLE "tokens" ADD COLUMN "issued_by_token_id" TEXT;
ALTER TABLE "tokens" ADD CONSTRAINT "tokens_issued_by_token_id_fkey" FOREIGN KEY ("issued_by_token_id") REFERENCES "tokens"("id") ON DELETE SET NULL ON UPDATE CASCADE;
ALTER TABLE "tokens" ADD CONSTRAINT tokens_not_issued_by_themselves CHECK (issued_by_token_id <> id);
CREATE INDEX "tokens_issued_by_token_id_idx" ON "tokens"("issued_by_token_id");
