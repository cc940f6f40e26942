-- Who created, registered or rotated a token. The tokens that an admin created end with the role.
CREATE VIEW audited_tokens AS
  SELECT e.agent_id AS actor_id, e.at, t.id AS token_id
  FROM audit_entries e, LATERAL (VALUES (e.resource_id), (e.details ->> 'token_id'), (e.details ->> 'rotated_to')) AS t(id)
  WHERE e.resource_type IN ('agent', 'token') AND e.action IN ('create', 'update') AND t.id IS NOT NULL;
