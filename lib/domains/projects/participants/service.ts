import { ndjson } from '#lib/domains/projects/exporting/ndjson.ts'
import type { MutationContext } from '#lib/kernel/context.ts'
import type { ExportReader, PersonExporter } from '#lib/kernel/data-source.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { restrictionReasons } from '#lib/kernel/restriction.ts'
import { mutation, read, stream } from '#lib/kernel/use-case.ts'
import {
  type ProjectQuery,
  projectReaderOf,
  queryDirectly,
  queryInTransaction,
  type SeenProject,
  seenProject,
  storableProject,
} from '../access.ts'
import type { ProjectPorts } from '../ports.ts'
import { asDownload } from '../rules.ts'
import { participantFor } from './authors.ts'
import {
  claimParticipation,
  editParticipant,
  exportParticipant,
  liftRestriction,
  listParticipants,
  listParticipations,
  type ParticipantView,
  type ParticipationView,
  readParticipant,
  registerParticipant,
} from './contract.ts'
import { unrestrictParticipants } from './restricting.ts'
export interface ParticipantRow {
  id: string
  project_id: string
  external_id: string
  name: string | null
  email: string | null
  account_id: string | null
  claimed_at: Date | null
  restricted_at: Date | null
  restricted_for: string[]
  created_at: Date
  updated_at: Date
}
const columns =
  'p.id, p.project_id, p.external_id, p.name, p.email, p.account_id, p.claimed_at, p.created_at, p.updated_at, p.restricted_for, coalesce(p.restricted_at, (SELECT a.restricted_at FROM account_restrictions a WHERE a.id = p.account_id)) AS restricted_at'
interface CountedRow extends ParticipantRow {
  messages: number
}
const countedColumns = `${columns}, (SELECT count(*)::int FROM messages m WHERE m.author_kind = 'participant' AND m.author_id = p.id) AS messages`
const oneCounted = `SELECT ${countedColumns} FROM project_participants p WHERE p.id = $1 AND p.project_id = $2`
/** SQL: the participants of the project `$1` that a list shows. The search `$3` covers email addresses only if `$4`. */
const listed = `FROM project_participants p WHERE p.project_id = $1 AND ($2::text IS NULL OR p.external_id = $2)
  AND ($3::text IS NULL OR strpos(lower(p.name), lower($3)) > 0 OR strpos(lower(p.external_id), lower($3)) > 0
    OR ($4::boolean AND strpos(p.email, lower($3)) > 0))`
const one = `SELECT ${columns} FROM project_participants p WHERE p.id = $1 AND p.project_id = $2`

export const noParticipant = (): Problem =>
  new Problem('not_found', 'There is no such participant in this project, or they were erased.')

/** Whether the reader acts for the participants: owners of the project, managers of its organization, admins. */
export const participantActUseCases = ({ role, office }: Pick<SeenProject, 'role' | 'office'>): boolean =>
  role === 'owner' || office !== null

const viewOf = (project: Pick<SeenProject, 'role' | 'office'>, row: ParticipantRow): ParticipantView => ({
  id: row.id,
  project_id: row.project_id,
  external_id: row.external_id,
  name: row.name,
  email: participantActUseCases(project) ? row.email : null,
  claimed: row.account_id !== null,
  claimed_at: row.claimed_at?.toISOString() ?? null,
  restricted_at: row.restricted_at?.toISOString() ?? null,
  restricted_for: restrictionReasons.filter((reason) => row.restricted_for.includes(reason)),
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})

const countedView = (project: Pick<SeenProject, 'role' | 'office'>, row: CountedRow) => ({
  ...viewOf(project, row),
  messages: row.messages,
})

async function participantIn(ask: ProjectQuery, projectId: string, id: string, lock = ''): Promise<ParticipantRow> {
  const [row] = await ask<ParticipantRow>(`participant${lock.replaceAll(/\W/g, '-')}`, `${one}${lock}`, [id, projectId])
  if (!row) throw noParticipant()
  return row
}

/** The parts of a participant's export. */
export interface ParticipantExports {
  /** Each exporter is called with a participant's id instead of an account's. */
  participantExporters: readonly PersonExporter[]
}

const participations = `SELECT p.id, pr.name AS project, p.name, p.account_id, p.claimed_at, p.created_at,
    (SELECT count(*)::int FROM messages m WHERE m.author_kind = 'participant' AND m.author_id = p.id) AS messages,
    (SELECT count(*)::int FROM documents d WHERE d.author_kind = 'participant' AND d.author_id = p.id) AS documents
  FROM project_participants p JOIN projects pr ON pr.id = p.project_id
  WHERE pr.erasing_since IS NULL AND (p.account_id = $1 OR (p.account_id IS NULL AND p.email = $2))
  ORDER BY p.created_at DESC, p.id DESC LIMIT 1000`

interface Participation extends Omit<ParticipationView, 'claimed' | 'claimed_at' | 'created_at'> {
  account_id: string | null
  claimed_at: Date | null
  created_at: Date
}

/** The account of the actor, or of the owner of the agent that acts; undefined for an unclaimed agent. */
async function responsiblePerson(
  tx: MutationContext['tx'],
  { accountId, id }: MutationContext['actor'],
): Promise<string | undefined> {
  if (accountId !== undefined) return accountId
  const [row] = await tx.$queryRaw<
    { owner: string | null }[]
  >`SELECT owner_id AS owner FROM agent_owners WHERE id = ${id}`
  return row?.owner ?? undefined
}

/**
 * The holder of the account or the address of a participation reads, exports and erases its data. Only owners of the
 * project, who can read the project anyway, assign them, and nobody assigns their own. An admin may add a missing
 * address and disconnect an account.
 */
async function refuseTakeover(
  ports: Pick<ProjectPorts, 'contactOf'>,
  { tx, actor }: MutationContext,
  { role, office }: Pick<SeenProject, 'role' | 'office'>,
  row: Pick<ParticipantRow, 'email'>,
  { email, account_id }: { email?: string | null | undefined; account_id?: string | null | undefined },
): Promise<void> {
  if (account_id === null && office !== 'admin')
    throw new Problem('forbidden', 'Only an admin disconnects an account from a participation. Nothing was changed.')
  const isNewAddress = email !== undefined && email !== row.email && !(office === 'admin' && row.email === null)
  if ((typeof account_id === 'string' || isNewAddress) && role !== 'owner')
    throw new Problem(
      'forbidden',
      'Only owners of the project connect an account, or change an email address. Nothing was changed.',
    )
  const account = await responsiblePerson(tx, actor)
  if (account === undefined) return
  const own = typeof email === 'string' ? await ports.contactOf(tx, account) : undefined
  if (account_id === account || (own && email?.toLowerCase() === own.email.toLowerCase()))
    throw new Problem('forbidden', 'Your own participation is claimed with your verified address. Nothing was changed.')
}

export const projectParticipants = (
  ports: Pick<ProjectPorts, 'db' | 'isSuppressed' | 'regions' | 'verifiedAddressOf' | 'contactOf' | 'copyAskedFor'> &
    ParticipantExports,
) => {
  const { db } = ports
  return {
    participants: read(listParticipants, async (ctx, { params: { projectId }, query }) => {
      const ask = queryDirectly(db)
      const project = await seenProject(ask, projectReaderOf(ctx), projectId)
      const after = parseCursor(query.cursor)
      const q = query.q?.trim()
      const which = [projectId, query.external_id ?? null, q ? q : null, participantActUseCases(project)]
      const rows = await ask<CountedRow>(
        'participants-page',
        `SELECT ${countedColumns} ${listed} AND (p.created_at, p.id) < ($5::timestamptz, $6) ORDER BY p.created_at DESC, p.id DESC LIMIT $7`,
        [...which, after?.at ?? 'infinity', after?.id ?? '', query.limit + 1],
      )
      const [counted] = await ask<{ n: number }>('participants-total', `SELECT count(*)::int AS n ${listed}`, which)
      const total = counted?.n ?? 0
      const { shown, page } = pageOf(rows, query.limit, total, ({ created_at, id }) => ({ at: created_at, id }))
      return {
        resourceId: projectId,
        details: { count: shown.length },
        body: { data: shown.map((row) => countedView(project, row)), ...page },
      }
    }),

    readParticipant: read(readParticipant, async (ctx, { params: { projectId, participantId } }) => {
      const ask = queryDirectly(db)
      const project = await seenProject(ask, projectReaderOf(ctx), projectId)
      const [row] = await ask<CountedRow>('participant-counted', oneCounted, [participantId, projectId])
      if (!row) throw noParticipant()
      return { body: { data: countedView(project, row) }, resourceId: participantId, details: { project: projectId } }
    }),

    registerParticipant: mutation(
      registerParticipant,
      async (ctx, { params: { projectId }, body }) => {
        const ask = queryInTransaction(ctx.tx)
        const project = await storableProject(ports, ask, projectReaderOf(ctx), projectId)
        if (ctx.actor.kind !== 'agent')
          throw new Problem('forbidden', 'Only the token of an agent registers participants. Nothing was stored.')
        const id = await participantFor(ports, ctx, projectId, body)
        const view = viewOf(project, await participantIn(ask, projectId, id))
        return {
          // A token without the scope `read` does not learn the name of a known participant.
          body: { data: ctx.actor.can('projects:read') ? view : { ...view, name: body.name ?? null } },
          resourceId: id,
          details: { project: projectId },
        }
      },
      async (ctx, { params: { projectId }, body }, { id }) => {
        const ask = queryInTransaction(ctx.tx)
        const project = await seenProject(ask, projectReaderOf(ctx), projectId)
        const { name, email, external_id } = viewOf(project, await participantIn(ask, projectId, String(id)))
        return { name: ctx.actor.can('projects:read') ? name : (body.name ?? null), email, external_id }
      },
    ),

    editParticipant: mutation(editParticipant, async (ctx, { params: { projectId, participantId }, body }) => {
      const { tx, now } = ctx
      const ask = queryInTransaction(tx)
      const project = await seenProject(ask, projectReaderOf(ctx), projectId)
      if (!participantActUseCases(project))
        throw new Problem('forbidden', 'Owners of the project, managers of its organization and admins do this.')
      const row = await participantIn(ask, projectId, participantId, ' FOR NO KEY UPDATE OF p')
      const { name, email, account_id } = body
      await refuseTakeover(ports, ctx, project, row, body)
      if (typeof account_id === 'string' && row.account_id !== null && row.account_id !== account_id)
        throw new Problem('conflict', 'Another account claimed this participation. Nothing was changed.')
      if (email !== undefined && email !== row.email && row.account_id !== null)
        throw new Problem(
          'conflict',
          'An account claimed this participation: its email address does not change. Nothing was changed.',
        )
      if (typeof account_id === 'string') {
        const known = await ask(
          'account-of-organisation',
          'SELECT 1 AS found FROM account_names n WHERE n.id = $1 AND n.organisation_id = $2 AND n.is_open',
          [account_id, project.organisationId],
        )
        if (known.length === 0)
          throw new Problem('not_found', 'The organization of this project has no such person. Nothing was changed.')
      }
      const isClaim = typeof account_id === 'string' && row.account_id === null
      await tx.projectParticipant.update({
        where: { id: participantId },
        data: {
          updatedAt: now,
          ...(name !== undefined && { name }),
          ...(email !== undefined && { email }),
          ...(isClaim && { accountId: account_id, claimedAt: now }),
          ...(account_id === null && { accountId: null, claimedAt: null }),
        },
      })
      return {
        body: { data: viewOf(project, await participantIn(ask, projectId, participantId)) },
        resourceId: participantId,
        details: { project: projectId, fields: Object.keys(body) },
      }
    }),

    liftRestriction: mutation(liftRestriction, async (ctx, { params: { projectId, participantId } }) => {
      const { tx, actor } = ctx
      const ask = queryInTransaction(tx)
      const find = () => participantIn(ask, projectId, participantId, ' FOR NO KEY UPDATE OF p')
      const [claimed] = await ask<ParticipantRow>('participant', one, [participantId, projectId])
      const isOwn = claimed !== undefined && claimed.account_id !== null && claimed.account_id === actor.accountId
      const project = isOwn ? undefined : await seenProject(ask, projectReaderOf(ctx), projectId)
      if (project && !participantActUseCases(project))
        throw new Problem('forbidden', 'Owners of the project, managers of its organization and admins do this.')
      const row = await find()
      if (project && row.account_id !== null)
        throw new Problem(
          'conflict',
          'A person claimed this participation, so only they lift its restriction. Nothing was changed.',
        )
      if (row.restricted_for.includes('objection') && !row.restricted_for.includes('request'))
        throw new Problem(
          'conflict',
          'The restriction is that of an objection: it ends when an admin refuses the objection. Nothing was changed.',
        )
      await unrestrictParticipants(tx, [participantId], 'request')
      const view = { role: project?.role ?? null, office: project?.office ?? null }
      return {
        body: { data: viewOf(view, await participantIn(ask, projectId, participantId)) },
        resourceId: participantId,
        details: { project: projectId, fields: ['restricted_for'] },
      }
    }),

    exportParticipant: stream(
      exportParticipant,
      async (ctx, { params: { projectId, participantId }, query: { scope } }) => {
        const ask = queryDirectly(db)
        const { actor, now } = ctx
        const [row] = await ask<ParticipantRow>('participant', one, [participantId, projectId])
        const isOwn = row !== undefined && row.account_id !== null && row.account_id === actor.accountId
        if (!isOwn) {
          const project = await seenProject(ask, projectReaderOf(ctx), projectId)
          if (!row) throw noParticipant()
          if (project.role !== 'owner' && !(project.office && (await ports.copyAskedFor(participantId, now))))
            throw new Problem(
              'forbidden',
              project.office
                ? 'File a request for access or portability for this participant first.'
                : 'Owners of the project export what is stored about a participant.',
            )
        }
        const { id, agents, organisationId, isAdmin } = actor
        const reader: ExportReader = { basis: scope, id, agents, organisationId, isAdmin, until: now }
        const parts = ports.participantExporters
          .filter(({ bases }) => bases.includes(scope))
          .map((exporter) => ({ name: exporter.part, pages: () => exporter.pages(participantId, reader) }))
        const head = { participant_id: participantId, project_id: projectId, exported_at: now.toISOString(), scope }
        return {
          body: ndjson(head, parts),
          resourceId: participantId,
          details: { project: projectId, scope },
          headers: {
            'Content-Type': 'application/x-ndjson',
            'Content-Disposition': asDownload(`participant-${participantId}.ndjson`),
          },
        }
      },
    ),

    participations: read(listParticipations, async ({ actor }) => {
      const accountId = actor.accountId ?? ''
      const address = await ports.verifiedAddressOf(db.prisma, accountId)
      const rows = await db.query<Participation>('participations', participations, [accountId, address ?? null])
      return {
        resourceId: accountId,
        details: { count: rows.length },
        body: {
          data: rows.map(({ account_id, ...row }) => ({
            ...row,
            claimed: account_id !== null,
            claimed_at: row.claimed_at?.toISOString() ?? null,
            created_at: row.created_at.toISOString(),
          })),
          address_verified: address !== undefined,
        },
      }
    }),

    claimParticipation: mutation(claimParticipation, async ({ tx, actor, now }, { params: { participantId } }) => {
      const accountId = actor.accountId ?? ''
      const address = await ports.verifiedAddressOf(tx, accountId)
      if (address === undefined)
        throw new Problem(
          'forbidden',
          'Your email address is not verified. Ask for a link to choose a password and use it; then claim again. Nothing was changed.',
        )
      const ask = queryInTransaction(tx)
      const [row] = await ask<Pick<ParticipantRow, 'email' | 'account_id' | 'claimed_at' | 'project_id'>>(
        'lock-participation',
        'SELECT email, account_id, claimed_at, project_id FROM project_participants WHERE id = $1 FOR NO KEY UPDATE',
        [participantId],
      )
      if (!row || (row.account_id !== accountId && row.email !== address))
        throw new Problem('not_found', 'There is no participation with this id that names your verified address.')
      if (row.account_id !== null && row.account_id !== accountId)
        throw new Problem('conflict', 'Another account claimed this participation. Nothing was changed.')
      const claimedAt = row.claimed_at ?? now
      if (row.account_id === null)
        await tx.projectParticipant.update({ where: { id: participantId }, data: { accountId, claimedAt } })
      return {
        body: { data: { id: participantId, claimed_at: claimedAt.toISOString() } },
        resourceId: participantId,
        details: { project: row.project_id },
      }
    }),
  }
}
