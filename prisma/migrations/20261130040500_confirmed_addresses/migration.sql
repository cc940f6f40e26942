-- With the email address of a participation, somebody claims what was written on its behalf. An address counts as evidence only if somebody
-- reported it who speaks for the project: before anything was written, with a token that acts for participants, or as an owner or admin.
-- Addresses from before stay what they were. The default of an added column rewrites no row.
ALTER TABLE project_participants ADD COLUMN email_confirmed boolean NOT NULL DEFAULT true;
ALTER TABLE project_participants ALTER COLUMN email_confirmed SET DEFAULT false;

-- No personal data: a hold need not retain a version for it.
DROP TRIGGER a_preserve_held ON project_participants;
CREATE TRIGGER a_preserve_held BEFORE DELETE OR UPDATE ON project_participants FOR EACH ROW EXECUTE FUNCTION preserve_held_version('{}', '{created_by,email_confirmed,restricted_at,restricted_for,updated_at}');
