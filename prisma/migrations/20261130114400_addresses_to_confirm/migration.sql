-- Owners and admins see which reported addresses wait to be confirmed. Few participants have one.
CREATE INDEX project_participants_unconfirmed_idx ON project_participants (project_id)
  WHERE email IS NOT NULL AND NOT email_confirmed AND account_id IS NULL;
