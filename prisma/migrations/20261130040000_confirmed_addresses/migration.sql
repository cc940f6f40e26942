-- With the email address of a participation, somebody claims what was written on its behalf. An address counts as evidence only if somebody
-- reported it who speaks for the project: before anything was written, with a token that acts for participants, or as an owner or admin.
ALTER TABLE project_participants ADD COLUMN email_confirmed boolean NOT NULL DEFAULT false;

-- No personal data: a hold need not retain a version for it.
DROP TRIGGER a_preserve_held ON project_participants;
CREATE TRIGGER a_preserve_held BEFORE DELETE OR UPDATE ON project_participants FOR EACH ROW EXECUTE FUNCTION preserve_held_version('{}', '{created_by,email_confirmed,restricted_at,restricted_for,updated_at}');

-- Addresses from before: those that are unchanged since an agent that speaks for the project created the participant. An owner confirms others.
UPDATE project_participants p SET email_confirmed = true
WHERE p.email IS NOT NULL AND p.name_since <= p.created_at AND EXISTS (
  SELECT FROM project_members m WHERE m.project_id = p.project_id AND m.role = 'owner' AND (
    (m.kind = 'agent' AND m.member_id = p.created_by)
    OR (m.kind = 'account' AND m.member_id = (SELECT a.owner_id FROM agents a WHERE a.id = p.created_by))));
