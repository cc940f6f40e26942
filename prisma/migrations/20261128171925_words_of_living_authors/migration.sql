-- CreateIndex
CREATE INDEX "document_chunks_content_idx" ON "document_chunks" USING GIN ("content" gin_trgm_ops);

-- CreateIndex
CREATE INDEX "messages_content_idx" ON "messages" USING GIN ("content" gin_trgm_ops);

-- Finds participants from before external ids were normalized.
CREATE INDEX project_participants_normal_id_idx ON project_participants (project_id, normalize(btrim(external_id, E' \t\n\r\u00a0\u3000'), NFC));
-- An external id in the name of a key or object names a person.
CREATE INDEX project_participants_external_id_idx ON project_participants (external_id);
