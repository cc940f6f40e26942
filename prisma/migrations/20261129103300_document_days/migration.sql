-- The owner of an agent can limit how long its theses and playbooks are stored. Null: until they are deleted, as before.
ALTER TABLE "agents" ADD COLUMN     "document_days" INTEGER;
