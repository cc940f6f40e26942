-- CreateIndex
CREATE INDEX "message_edits_content_idx" ON "message_edits" USING GIN ("content" gin_trgm_ops);
