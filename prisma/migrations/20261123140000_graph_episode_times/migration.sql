-- CreateIndex
CREATE INDEX "graph_episodes_group_id_valid_at_idx" ON "graph_episodes"("group_id", "valid_at");

-- CreateIndex
CREATE INDEX "graph_episodes_group_id_created_at_idx" ON "graph_episodes"("group_id", "created_at");
