-- Owners and admins see which reported addresses wait to be confirmed. The oldest one of each project is found in the index alone.
CREATE INDEX project_participants_unconfirmed_idx ON project_participants (project_id, created_at)
  WHERE email IS NOT NULL AND NOT email_confirmed AND account_id IS NULL;
