-- An erasure removes a person's name from texts of others only if the person has borne it for a while: otherwise a new name would remove
-- any word. The time of a change is the business time that the application writes with it.
ALTER TABLE accounts ADD COLUMN name_since timestamptz(3);
ALTER TABLE project_participants ADD COLUMN name_since timestamptz(3);
UPDATE accounts SET name_since = updated_at;
UPDATE project_participants SET name_since = updated_at;

CREATE FUNCTION note_name_since() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    NEW.name_since := NEW.created_at;
  ELSIF NEW.name IS DISTINCT FROM OLD.name OR NEW.email IS DISTINCT FROM OLD.email THEN
    NEW.name_since := greatest(NEW.updated_at, OLD.name_since);
  ELSE
    NEW.name_since := OLD.name_since;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER accounts_note_name_since BEFORE INSERT OR UPDATE ON accounts FOR EACH ROW EXECUTE FUNCTION note_name_since();
CREATE TRIGGER project_participants_note_name_since BEFORE INSERT OR UPDATE ON project_participants FOR EACH ROW EXECUTE FUNCTION note_name_since();

-- Owners of a project allow erasures of members and participants to remove their names from texts of others in its graph.
ALTER TABLE projects ADD COLUMN allows_redaction boolean NOT NULL DEFAULT false;
