-- Regions are `eu` or countries of two letters; the settings name those that can be chosen.
ALTER TABLE "agents" DROP CONSTRAINT agents_region_known;
ALTER TABLE "agents" ADD CONSTRAINT agents_region_known CHECK (region ~ '^[a-z]{2}$');
ALTER TABLE "projects" ADD CONSTRAINT projects_region_known CHECK (region ~ '^[a-z]{2}$');

ALTER TABLE "conversations" ADD COLUMN "region" TEXT;
ALTER TABLE "conversations" ADD CONSTRAINT conversations_region_known CHECK (region ~ '^[a-z]{2}$');
CREATE FUNCTION refuse_other_conversation_region() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  RAISE EXCEPTION 'The region of a conversation is fixed at its creation' USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER conversations_keep_region BEFORE UPDATE OF region ON conversations FOR EACH ROW WHEN (OLD.region IS DISTINCT FROM NEW.region) EXECUTE FUNCTION refuse_other_conversation_region();
