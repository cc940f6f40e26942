-- Messages of assistants, tools and system prompts of a project, in the order of their times.
CREATE INDEX messages_of_machines ON messages (project_id, created_at, id) WHERE NOT (role = 'user' OR author_kind = 'participant');
-- When the oldest erased text was written. Older texts of assistants cannot quote it.
ALTER TABLE "erasure_runs" ADD COLUMN "words_since" TIMESTAMPTZ(3);
