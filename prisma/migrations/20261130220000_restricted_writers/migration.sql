-- Authors whose processing is restricted (GDPR art. 18): participants, accounts, and agents, also with the account of their owner. Every
-- reader of messages and documents asks this view, so that the author's kind makes no difference.
CREATE VIEW restricted_writers AS
  SELECT 'participant' AS kind, id FROM restricted_participants
  UNION ALL SELECT 'account', id FROM account_states WHERE restricted_at IS NOT NULL
  UNION ALL SELECT 'agent', a.id FROM agent_states a LEFT JOIN account_states o ON o.id = a.owner_id
    WHERE a.restricted_at IS NOT NULL OR o.restricted_at IS NOT NULL;
