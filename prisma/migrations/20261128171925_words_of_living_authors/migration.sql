-- CreateIndex
CREATE INDEX "document_chunks_content_idx" ON "document_chunks" USING GIN ("content" gin_trgm_ops);

-- CreateIndex
CREATE INDEX "messages_content_idx" ON "messages" USING GIN ("content" gin_trgm_ops);
