/** Types of the parameters that identify a reader; their values are a `ProjectReader`. */
export const readerTypes = { account: 'text?', agents: 'text[]', organisation: 'text?', isAdmin: 'bool' } as const

const isReader =
  "((m.kind = 'account' AND m.member_id = $account) OR (m.kind = 'agent' AND m.member_id = ANY($agents)))"
/** SQL: the reader's role in the project `p`; null for non-members. Only members may read content; being an admin is not enough. */
export const projectRoleSql = `(SELECT min(m.role) FROM project_members m
    WHERE m.project_id = p.id AND p.organisation_id = $organisation AND ${isReader})`
/** SQL: the office with which the reader may see that the project `p` exists and close it: `admin`, `manager`, or null. */
export const projectOfficeSql = `(CASE WHEN $isAdmin THEN 'admin' WHEN EXISTS (SELECT FROM account_names n
    WHERE n.id = $account AND n.role = 'manager' AND n.organisation_id = p.organisation_id) THEN 'manager' END)`
/** SQL: the projects of which the reader is a member, looked up by member. */
export const memberProjectsSql = `(SELECT m.project_id FROM project_members m WHERE ${isReader})`
