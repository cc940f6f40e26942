import { projectHoldsSql } from '#lib/domains/projects/legal-holds.ts'
import { newestFirst, pageTypes } from '#lib/domains/projects/list-page.ts'
import { servedAuthorSql } from '#lib/domains/projects/readable-rows.ts'
import { type RowOf, statement } from '#lib/stores/postgres/statement.ts'

const participantColumns = {
  id: 'text',
  project_id: 'text',
  external_id: 'text',
  name: 'text?',
  email: 'text?',
  email_confirmed: 'bool',
  account_id: 'text?',
  claimed_at: 'timestamptz?',
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
  restricted_for: 'text[]!',
  restricted_at: 'timestamptz?',
} as const
export type ParticipantRow = RowOf<typeof participantColumns>
const participantSql = `p.id, p.project_id, p.external_id, p.name, p.email, p.email_confirmed, p.account_id, p.claimed_at, p.created_at,
  p.updated_at, p.restricted_for,
  coalesce(p.restricted_at, (SELECT a.restricted_at FROM account_restrictions a WHERE a.id = p.account_id)) AS restricted_at`

export type ParticipantLock = 'none' | 'change'
export const participantInProject = statement('projects.participant', {
  takes: { id: 'text', project: 'text' },
  returns: participantColumns,
  isPrepared: true,
  variants: ['none', 'change'],
  sql: (lock: ParticipantLock) => `SELECT ${participantSql} FROM project_participants p
    WHERE p.id = $id AND p.project_id = $project${lock === 'change' ? ' FOR NO KEY UPDATE OF p' : ''}`,
})

const countedColumns = { ...participantColumns, messages: 'int4' } as const
export type CountedRow = RowOf<typeof countedColumns>
const selectCounted = `SELECT ${participantSql}, (SELECT count(*)::int4 FROM messages m
    WHERE m.author_kind = 'participant' AND m.author_id = p.id) AS messages FROM project_participants p`
export const countedParticipant = statement('projects.counted-participant', {
  takes: { id: 'text', project: 'text' },
  returns: countedColumns,
  isPrepared: true,
  sql: `${selectCounted} WHERE p.id = $id AND p.project_id = $project`,
})

/** SQL: whether the participant `p` has an address with which nobody can claim the participation before it is confirmed. An index has it. */
const unconfirmedSql = '(p.email IS NOT NULL AND NOT p.email_confirmed AND p.account_id IS NULL)'

const listedTypes = {
  project: 'text',
  externalId: 'text?',
  search: 'text?',
  searchesEmails: 'bool',
  isUnconfirmed: 'bool',
  reader: 'text?',
} as const
const listed = `p.project_id = $project AND ($externalId IS NULL OR p.external_id = $externalId)
  AND ($search IS NULL OR strpos(lower(p.external_id), lower($search)) > 0
    OR ((strpos(lower(p.name), lower($search)) > 0 OR ($searchesEmails AND strpos(p.email, lower($search)) > 0))
      AND ${servedAuthorSql("'participant'", 'p.id', '$reader')}))
  AND (NOT $isUnconfirmed OR ($searchesEmails AND ${unconfirmedSql}))`
export const participantsPage = statement('projects.participants-page', {
  takes: { ...listedTypes, ...pageTypes },
  returns: countedColumns,
  isPrepared: true,
  sql: `${selectCounted} WHERE ${listed} AND ${newestFirst('p.created_at', 'p.id')}`,
})
export const countListedParticipants = statement('projects.count-listed-participants', {
  takes: listedTypes,
  returns: { n: 'int4' },
  isPrepared: true,
  sql: `SELECT count(*)::int4 AS n FROM project_participants p WHERE ${listed}`,
})

/** SQL: the external id of a participant `p` in NFC without outer spaces. An index has it. Participants from before may have another form. */
const normalSql = `normalize(btrim(p.external_id, E' \\t\\n\\r\\u00a0\\u3000'), NFC)`
/** `normal`: compares also the ids of participants from before ids were normalized; the oldest first. */
export const participantByExternalId = statement('projects.participant-by-external-id', {
  takes: { project: 'text', externalId: 'text' },
  returns: { id: 'text', name: 'text?', email: 'text?', is_fenced: 'bool', is_restricted: 'bool' },
  isPrepared: true,
  variants: ['exact', 'normal'],
  sql: (
    compared: 'exact' | 'normal',
  ) => `SELECT p.id, p.name, p.email, EXISTS (SELECT FROM fenced f WHERE f.kind = 'participant' AND f.id = p.id) AS is_fenced,
      EXISTS (SELECT FROM restricted_participants rp WHERE rp.id = p.id) AS is_restricted
    FROM project_participants p WHERE p.project_id = $project
      AND ${compared === 'exact' ? 'p.external_id' : normalSql} = $externalId ORDER BY p.created_at, p.id LIMIT 1`,
})
/** Inserts nothing if the project has a participant with this external id. */
export const insertParticipant = statement('projects.insert-participant', {
  takes: {
    id: 'text',
    project: 'text',
    externalId: 'text',
    name: 'text?',
    email: 'text?',
    isConfirmed: 'bool',
    createdBy: 'text',
    now: 'timestamptz',
  },
  returns: 'count',
  isPrepared: true,
  sql: `INSERT INTO project_participants (id, project_id, external_id, name, email, email_confirmed, created_by, created_at, updated_at)
    VALUES ($id, $project, $externalId, $name, $email, $isConfirmed, $createdBy, $now, $now) ON CONFLICT (project_id, external_id) DO NOTHING`,
})

/** Participations that the account claimed, and unclaimed ones with its confirmed email address in any stored form; the newest 1,000. */
export const participationsOfPerson = statement('projects.participations-of-person', {
  takes: { account: 'text', emails: 'text[]' },
  returns: {
    id: 'text',
    project: 'text',
    name: 'text?',
    account_id: 'text?',
    claimed_at: 'timestamptz?',
    created_at: 'timestamptz',
    messages: 'int4',
    documents: 'int4',
  },
  isPrepared: true,
  sql: `SELECT p.id, pr.name AS project, p.name, p.account_id, p.claimed_at, p.created_at,
      (SELECT count(*)::int4 FROM messages m WHERE m.author_kind = 'participant' AND m.author_id = p.id) AS messages,
      (SELECT count(*)::int4 FROM documents d WHERE d.author_kind = 'participant' AND d.author_id = p.id) AS documents
    FROM project_participants p JOIN projects pr ON pr.id = p.project_id
    WHERE pr.erasing_since IS NULL AND (p.account_id = $account OR (p.account_id IS NULL AND p.email = ANY($emails) AND p.email_confirmed))
    ORDER BY p.created_at DESC, p.id DESC LIMIT 1000`,
})
/** The projects that the reader owns with addresses that wait to be confirmed, newest first, and how many: at most 1,001. */
export const projectsWithUnconfirmed = statement('projects.with-unconfirmed', {
  takes: { account: 'text', agents: 'text[]', organisation: 'text?', limit: 'int4' },
  returns: { id: 'text', name: 'text', n: 'int4!' },
  isPrepared: true,
  sql: `SELECT f.id, f.name, (SELECT count(*)::int4 FROM (SELECT FROM project_participants p
        WHERE p.project_id = f.id AND ${unconfirmedSql} LIMIT 1001) AS counted) AS n
    FROM (SELECT pr.id, pr.name, pr.created_at FROM projects pr
      WHERE pr.status <> 'closed' AND pr.erasing_since IS NULL AND pr.organisation_id = $organisation
        AND pr.id IN (SELECT m.project_id FROM project_members m WHERE m.role = 'owner'
          AND ((m.kind = 'account' AND m.member_id = $account) OR (m.kind = 'agent' AND m.member_id = ANY($agents))))
        AND EXISTS (SELECT FROM project_participants p WHERE p.project_id = pr.id AND ${unconfirmedSql})
      ORDER BY pr.created_at DESC, pr.id LIMIT $limit) AS f
    ORDER BY f.created_at DESC, f.id`,
})
/**
 * Projects with such an address that nobody with an open account owns, directly or through an agent, and when the oldest of these participants
 * was created. Looks up the next project in the index instead of reading all such participants.
 */
export const unconfirmedWithoutOwner = statement('projects.unconfirmed-without-owner', {
  takes: { limit: 'int4' },
  returns: { id: 'text', name: 'text', at: 'timestamptz!' },
  isPrepared: true,
  sql: `WITH RECURSIVE waiting AS (
      (SELECT p.project_id, p.created_at FROM project_participants p WHERE ${unconfirmedSql} ORDER BY p.project_id, p.created_at LIMIT 1)
      UNION ALL SELECT following.project_id, following.created_at FROM waiting w CROSS JOIN LATERAL (
        SELECT p.project_id, p.created_at FROM project_participants p
          WHERE ${unconfirmedSql} AND p.project_id > w.project_id ORDER BY p.project_id, p.created_at LIMIT 1) AS following)
    SELECT pr.id, pr.name, w.created_at AS at FROM waiting w JOIN projects pr ON pr.id = w.project_id
    WHERE pr.status <> 'closed' AND pr.erasing_since IS NULL
      AND NOT EXISTS (SELECT FROM project_members m JOIN account_names a ON a.id = CASE m.kind WHEN 'account' THEN m.member_id
          ELSE (SELECT o.owner_id FROM agent_owners o WHERE o.id = m.member_id) END
        WHERE m.project_id = pr.id AND m.role = 'owner' AND a.is_open)
    ORDER BY at, pr.id LIMIT $limit`,
})
export const lockParticipation = statement('projects.lock-participation', {
  takes: { id: 'text' },
  returns: {
    email: 'text?',
    email_confirmed: 'bool',
    email_by: 'text?',
    account_id: 'text?',
    claimed_at: 'timestamptz?',
    project_id: 'text',
  },
  isPrepared: true,
  sql: 'SELECT email, email_confirmed, email_by, account_id, claimed_at, project_id FROM project_participants WHERE id = $id FOR NO KEY UPDATE',
})

/** Waits for transactions that write on behalf of these participants, or of those that the account claimed. */
export const lockParticipantsForErasure = statement('projects.lock-participants-for-erasure', {
  takes: { account: 'text?', ids: 'text[]' },
  returns: { id: 'text', project: 'text', external: 'text' },
  sql: `SELECT id, project_id AS project, external_id AS external FROM project_participants
    WHERE account_id = $account OR id = ANY($ids) ORDER BY id FOR UPDATE`,
})
export const lockRestrictions = statement('projects.lock-restrictions', {
  takes: { ids: 'text[]' },
  returns: { id: 'text', restrictedAt: 'timestamptz?', restrictedFor: 'text[]!' },
  sql: `SELECT id, restricted_at AS "restrictedAt", restricted_for AS "restrictedFor" FROM project_participants
    WHERE id = ANY($ids) ORDER BY id FOR NO KEY UPDATE`,
})
export const findRestricted = statement('projects.find-restricted', {
  takes: { kind: 'text', id: 'text' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: 'SELECT id FROM restricted_writers WHERE kind = $kind AND id = $id',
})

/** One row if the first account owns an open project of which the second account is a member. */
export const findOwnedMembership = statement('projects.find-owned-membership', {
  takes: { owner: 'text', member: 'text' },
  returns: { id: 'text' },
  sql: `SELECT p.id FROM project_members o JOIN projects p ON p.id = o.project_id
      JOIN account_names n ON n.id = o.member_id AND n.organisation_id = p.organisation_id
      JOIN project_members m ON m.project_id = p.id AND m.kind = 'account' AND m.member_id = $member
    WHERE o.kind = 'account' AND o.member_id = $owner AND o.role = 'owner' AND p.status <> 'closed' LIMIT 1`,
})

/** One row if the agent is a member of a project that the owner of the agent owns. */
export const findApplicationMembership = statement('projects.find-application-membership', {
  takes: { project: 'text', agent: 'text' },
  returns: { id: 'text' },
  sql: `SELECT m.project_id AS id FROM project_members m JOIN agent_owners a ON a.id = m.member_id
      JOIN project_members o ON o.project_id = m.project_id AND o.kind = 'account' AND o.member_id = a.owner_id AND o.role = 'owner'
    WHERE m.project_id = $project AND m.kind = 'agent' AND m.member_id = $agent LIMIT 1`,
})

/** One row if the agent speaks for the project: it, or the person who owns it, is an owner of the project. */
export const findSpeaker = statement('projects.find-speaker', {
  takes: { project: 'text', agent: 'text' },
  returns: { id: 'text' },
  sql: `SELECT m.project_id AS id FROM project_members m
    WHERE m.project_id = $project AND m.role = 'owner' AND ((m.kind = 'agent' AND m.member_id = $agent)
      OR (m.kind = 'account' AND m.member_id = (SELECT a.owner_id FROM agent_owners a WHERE a.id = $agent)))
    LIMIT 1`,
})
/** One row if anything was written on behalf of the participant. */
export const findWritten = statement('projects.find-written', {
  takes: { participant: 'text' },
  returns: { id: 'text' },
  sql: `(SELECT m.id FROM messages m WHERE m.author_kind = 'participant' AND m.author_id = $participant LIMIT 1)
    UNION ALL (SELECT d.id FROM documents d WHERE d.author_kind = 'participant' AND d.author_id = $participant LIMIT 1)`,
})

export const participantInventory = statement('projects.participant-inventory', {
  takes: { ids: 'text[]' },
  returns: { n: 'int4', since: 'timestamptz?' },
  isPrepared: true,
  sql: 'SELECT count(*)::int4 AS n, min(created_at) AS since FROM project_participants WHERE id = ANY($ids)',
})

/** How the participants to erase are selected: by id, by project, or by the account that claimed them. */
export type ParticipantSelection = 'ids' | 'projects' | 'accounts'
const selections: Record<ParticipantSelection, string> = {
  ids: 'x.id = ANY($values)',
  projects: 'x.project_id = ANY($values)',
  accounts: 'x.account_id = ANY($values)',
}
const planned = (selection: ParticipantSelection) => `WITH ${projectHoldsSql('$now')}
  SELECT x.id, coalesce(hp.hold, hw.hold) AS hold FROM project_participants x
    LEFT JOIN held_projects hp ON hp.id = x.project_id LEFT JOIN held_writers hw ON hw.kind = 'participant' AND hw.id = x.id
  WHERE ${selections[selection]}`
/** Selected participants with the legal holds that cover them. */
export const plannedParticipants = statement('projects.planned-participants', {
  takes: { values: 'text[]', now: 'timestamptz' },
  returns: { id: 'text', hold: 'text?' },
  isPrepared: true,
  variants: ['ids', 'projects', 'accounts'],
  sql: planned,
})
/** How many selected participants no legal hold covers. */
export const countErasableParticipants = statement('projects.count-erasable-participants', {
  takes: { values: 'text[]', now: 'timestamptz' },
  returns: { n: 'int4' },
  variants: ['ids', 'projects', 'accounts'],
  sql: (selection: ParticipantSelection) =>
    `SELECT count(*)::int4 AS n FROM (${planned(selection)}) AS f WHERE hold IS NULL`,
})
export const deleteParticipants = statement('projects.delete-participants', {
  takes: { ids: 'text[]' },
  returns: 'count',
  isPrepared: true,
  sql: 'DELETE FROM project_participants WHERE id = ANY($ids)',
})
export const countParticipants = statement('projects.count-participants', {
  takes: { ids: 'text[]' },
  returns: { n: 'int4' },
  sql: 'SELECT count(*)::int4 AS n FROM project_participants WHERE id = ANY($ids)',
})

/** The person who owns an agent. */
export const ownerOfAgent = statement('projects.owner-of-agent', {
  takes: { agent: 'text' },
  returns: { owner: 'text?' },
  sql: 'SELECT owner_id AS owner FROM agent_owners WHERE id = $agent',
})
