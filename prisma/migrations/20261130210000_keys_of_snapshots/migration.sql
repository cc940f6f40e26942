-- Each page of a complete reading asks which objects are snapshots and uploaded states.
-- CreateIndex
CREATE INDEX "snapshots_object_key_idx" ON "snapshots"("object_key");

-- CreateIndex
CREATE INDEX "state_bundles_object_key_idx" ON "state_bundles"("object_key");
