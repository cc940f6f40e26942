-- Finds participants from before external ids were normalized.
CREATE INDEX project_participants_normal_id_idx ON project_participants (project_id, normalize(btrim(external_id, E' \t\n\r\u00a0\u3000'), NFC));

-- CreateIndex
CREATE INDEX "project_participants_external_id_idx" ON "project_participants"("external_id");
