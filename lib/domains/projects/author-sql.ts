/** SQL: an author as the API shows one, with the current name. Parameters: columns with the author's kind and id. */
export const writerSql = (kind: string, id: string): string => `json_build_object('kind', ${kind}, 'id', ${id}, 'name',
    CASE ${kind} WHEN 'account' THEN (SELECT w.name FROM account_names w WHERE w.id = ${id})
      WHEN 'participant' THEN (SELECT coalesce(w.name, w.external_id) FROM project_participants w WHERE w.id = ${id})
      ELSE (SELECT coalesce(w.name, w.id) FROM agent_names w WHERE w.id = ${id}) END)`

/** SQL: kind and id of an actor from a column as in the audit log: an agent's id, or `user:<account>`. */
export const doerKindSql = (doer: string): string =>
  `(CASE WHEN starts_with(${doer}, 'user:') THEN 'account' ELSE 'agent' END)`
export const doerIdSql = (doer: string): string =>
  `(CASE WHEN starts_with(${doer}, 'user:') THEN substr(${doer}, 6) ELSE ${doer} END)`
/** SQL: {@link writerSql} from such a column. */
export const doerSql = (doer: string): string => writerSql(doerKindSql(doer), doerIdSql(doer))

/** SQL: the account that claimed the participation of the author of a row; null for other authors. */
export const claimantSql = (alias: string): string =>
  `(SELECT pc.account_id FROM project_participants pc WHERE ${alias}.author_kind = 'participant' AND pc.id = ${alias}.author_id)`
