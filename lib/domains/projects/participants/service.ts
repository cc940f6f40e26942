import { accountDirectory } from '#lib/domains/accounts/queries.ts'
import { requestedCopy } from '#lib/domains/privacy-requests/queries.ts'
import { isSameAddress, storedForms } from '#lib/kernel/address-forms.ts'
import type { Context, MutationContext } from '#lib/kernel/context.ts'
import type { Basis, ExportReader, PersonExporter } from '#lib/kernel/exporter.ts'
import { pageOf } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import {
  consulted,
  guardApplication,
  guardExport,
  mutation,
  read,
  requireRecentPassword,
  stream,
} from '#lib/kernel/use-case.ts'
import { projectReaderOf, seenProject, storableProject } from '../access.ts'
import { ndjson } from '../exporting/stored-parts.ts'
import { pageValues } from '../list-page.ts'
import type { ProjectPorts } from '../ports.ts'
import { findInOrganisation, type SeenProject } from '../repository.ts'
import { asDownload } from '../rules.ts'
import { requireApplication } from './acting.ts'
import { answeringFor, type IdentityChanges, isStored, participantFor, refuseTakeover } from './authors.ts'
import {
  claimParticipation,
  editParticipant,
  exportParticipant,
  liftRestriction,
  listParticipants,
  listParticipations,
  readParticipant,
  registerParticipant,
} from './contract.ts'
import {
  countedView,
  mayActForParticipants,
  noParticipant,
  participantIn,
  participantView,
} from './participant-view.ts'
import {
  countedParticipant,
  countListedParticipants,
  lockParticipation,
  type ParticipantRow,
  participantInProject,
  participantsPage,
  participationsOfPerson,
} from './repository.ts'
import { restrictedReader, unrestrictParticipants } from './restricting.ts'

/** The parts of a participant's export. */
export interface ParticipantExports {
  /** Each exporter is called with a participant's id instead of an account's. */
  participantExporters: readonly PersonExporter[]
}
/** @throws {Problem} `forbidden` unless the reader acts for the participants */
function requireActing(project: SeenProject): void {
  if (!mayActForParticipants(project))
    throw new Problem(
      'forbidden',
      'Only owners of the project, managers of its organization and admins can do this. Nothing was changed.',
    )
}

/** @throws {Problem} `conflict` if another account claimed it, or for a new address of a claimed participation; `not_found` for an unknown account */
async function requireConnectable(
  { tx }: MutationContext,
  { organisationId: organisation }: SeenProject,
  row: ParticipantRow,
  { email, account_id }: IdentityChanges,
): Promise<void> {
  if (typeof account_id === 'string' && row.account_id !== null && row.account_id !== account_id)
    throw new Problem('conflict', 'Another account has claimed this participation. Nothing was changed.')
  if (email !== undefined && !isStored(row, email) && row.account_id !== null && account_id !== null)
    throw new Problem(
      'conflict',
      'An account has claimed this participation, so its email address cannot change. Nothing was changed.',
    )
  if (
    typeof account_id === 'string' &&
    (await findInOrganisation(tx, { kind: 'account', id: account_id, organisation })).length === 0
  )
    throw new Problem('not_found', 'The project’s organization has no such person. Nothing was changed.')
}

const edit = () =>
  mutation(editParticipant, async (ctx, { params: { projectId, participantId: id }, body }) => {
    const { tx, now } = ctx
    const project = await seenProject(tx, projectReaderOf(ctx), projectId)
    requireActing(project)
    const row = await participantIn(tx, projectId, id, 'change')
    await refuseTakeover(ctx, project, row, body)
    await requireConnectable(ctx, project, row, body)
    const { name, email, account_id: accountId } = body
    // A form that sends the stored address together with other changes does not confirm it.
    const isUnchanged =
      email !== undefined && isStored(row, email) && row.email_confirmed && Object.keys(body).length > 1
    await tx.projectParticipant.update({
      where: { id },
      data: {
        updatedAt: now,
        ...(name !== undefined && { name }),
        ...(email !== undefined && { email, emailConfirmed: email !== null }),
        ...(email !== undefined &&
          !isUnchanged && { emailBy: email === null ? null : await answeringFor(tx, ctx.actor.id) }),
        ...(typeof accountId === 'string' && row.account_id === null && { accountId, claimedAt: now }),
        ...(accountId === null && { accountId, claimedAt: null }),
      },
    })
    return {
      body: { data: participantView(project, ctx.actor, await participantIn(tx, projectId, id)) },
      resourceId: id,
      details: { project: projectId, fields: Object.keys(body) },
    }
  })

/**
 * Only the person who claimed a participation lifts its restriction; otherwise those who act for the project's participants, with a recently
 * entered password.
 */
const lift = () =>
  mutation(liftRestriction, async (ctx, { params: { projectId, participantId: id } }) => {
    const { tx, actor } = ctx
    const [claimed] = await participantInProject(tx, { project: projectId, id }, 'none')
    const isOwn = claimed !== undefined && claimed.account_id !== null && claimed.account_id === actor.accountId
    const project = isOwn ? undefined : await seenProject(tx, projectReaderOf(ctx), projectId)
    if (project) {
      requireActing(project)
      requireRecentPassword(ctx)
    }
    const row = await participantIn(tx, projectId, id, 'change')
    if (project && row.account_id !== null)
      throw new Problem(
        'conflict',
        'A person has claimed this participation, so only they can lift its restriction. Nothing was changed.',
      )
    if (row.restricted_for.includes('objection') && !row.restricted_for.includes('request'))
      throw new Problem(
        'conflict',
        'This restriction belongs to an objection. It ends when an admin refuses the objection. Nothing was changed.',
      )
    await unrestrictParticipants(tx, [id], 'request')
    const access = { role: project?.role ?? null, office: project?.office ?? null }
    return {
      body: { data: participantView(access, actor, await participantIn(tx, projectId, id)) },
      resourceId: id,
      details: { project: projectId, fields: ['restricted_for'] },
    }
  })

/**
 * Checks that the actor may export a participant: the person who claimed it, owners of the project, and after a request for a copy also
 * managers and admins.
 * @throws {Problem} `not_found`, `forbidden`
 */
async function requireExportable(
  { db }: Pick<ProjectPorts, 'db'>,
  ctx: Context,
  projectId: string,
  id: string,
): Promise<void> {
  const [row] = await participantInProject(db, { project: projectId, id }, 'none')
  const isClaimed = row !== undefined && row.account_id !== null && row.account_id === ctx.actor.accountId
  const { role, office } = isClaimed
    ? { role: null, office: null }
    : await seenProject(db, projectReaderOf(ctx), projectId)
  if (!row) throw noParticipant()
  // Owners of the project read all of it anyway.
  const isOwn = isClaimed || role === 'owner'
  if (isOwn && guardExport(ctx, { isOwn, isRequested: true })) return
  if (ctx.actor.kind === 'agent' && ctx.actor.scopes.includes('privacy')) {
    consulted(ctx, 'export-subject')
    await requireApplication(db, ctx.actor, { id: projectId })
    guardApplication(ctx)
    if (row.account_id === null && (await requestedCopy(db, id, ctx.now))) return
    throw new Problem('forbidden', 'File a request for access or portability for this participant first.')
  }
  const isRequested = office !== null && (await requestedCopy(db, id, ctx.now))
  if (isRequested && guardExport(ctx, { isOwn, isRequested })) return
  throw new Problem(
    'forbidden',
    office
      ? 'File a request for access or portability for this participant first.'
      : 'Only owners of the project can export the data of a participant.',
  )
}

/** All parts about a participant as NDJSON. The caller checks that the reader may have them. */
function participantDocument(
  exporters: ParticipantExports['participantExporters'],
  { participantId, projectId, reader }: { participantId: string; projectId: string; reader: ExportReader },
): AsyncIterable<string> {
  const { basis, until } = reader
  const parts = exporters
    .filter(({ bases }) => bases.includes(basis))
    .map((exporter) => ({ name: exporter.part, pages: () => exporter.pages(participantId, reader) }))
  return ndjson(
    { participant_id: participantId, project_id: projectId, exported_at: until.toISOString(), scope: basis },
    parts,
  )
}

const exported = (ports: Pick<ProjectPorts, 'db'> & ParticipantExports) =>
  stream(exportParticipant, async (ctx, { params: { projectId, participantId }, query: { scope } }) => {
    await requireExportable(ports, ctx, projectId, participantId)
    const { id, agents, organisationId, isAdmin } = ctx.actor
    const reader: ExportReader = {
      basis: scope,
      id,
      agents,
      organisationId,
      isAdmin,
      seesPrivate: true,
      until: ctx.now,
    }
    return {
      body: participantDocument(ports.participantExporters, { participantId, projectId, reader }),
      resourceId: participantId,
      details: { project: projectId, scope },
      headers: {
        'Content-Type': 'application/x-ndjson',
        'Content-Disposition': asDownload(`participant-${participantId}.ndjson`),
      },
    }
  })

const register = (ports: Pick<ProjectPorts, 'isSuppressed' | 'regions'>) =>
  mutation(
    registerParticipant,
    async (ctx, { params: { projectId }, body }) => {
      const { tx, actor } = ctx
      const project = await storableProject(ports, tx, projectReaderOf(ctx), projectId)
      if (actor.kind !== 'agent')
        throw new Problem(
          'forbidden',
          'Only an agent can register participants. Use the token of an agent. Nothing was stored.',
        )
      const id = await participantFor(ports, ctx, projectId, body)
      const view = participantView(project, actor, await participantIn(tx, projectId, id))
      return {
        // A token without the scope `read` does not learn the name of a known participant.
        body: { data: actor.can('projects:read') ? view : { ...view, name: body.name ?? null } },
        resourceId: id,
        details: { project: projectId },
      }
    },
    async ({ tx, actor }, { params: { projectId }, body }, { id }) => {
      const project = await seenProject(tx, projectReaderOf({ actor }), projectId)
      const { name, email, external_id } = participantView(
        project,
        actor,
        await participantIn(tx, projectId, String(id)),
      )
      return { name: actor.can('projects:read') ? name : (body.name ?? null), email, external_id }
    },
  )

/** Use cases for a person's own participations. */
const ownParticipations = ({ db }: Pick<ProjectPorts, 'db'>) => ({
  participations: read(listParticipations, async ({ actor }) => {
    const account = actor.accountId ?? ''
    const address = await accountDirectory.verifiedAddressOf(db.prisma, account)
    const rows = await participationsOfPerson(db, {
      account,
      emails: address === undefined ? [] : storedForms(address),
    })
    return {
      resourceId: account,
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

  claimParticipation: mutation(claimParticipation, async (ctx, { params: { participantId: id } }) => {
    const { tx, actor, now } = ctx
    const accountId = actor.accountId ?? ''
    consulted(ctx, 'take-over')
    const address = await accountDirectory.verifiedAddressOf(tx, accountId)
    if (address === undefined)
      throw new Problem(
        'forbidden',
        'Your email address is not verified. Request a link to choose a password and open it, then claim again. Nothing was changed.',
      )
    const [row] = await lockParticipation(tx, { id })
    if (!row || (row.account_id !== accountId && (row.email === null || !isSameAddress(row.email, address))))
      throw new Problem('not_found', 'No participation with this id has your verified email address.')
    if (row.account_id !== null && row.account_id !== accountId)
      throw new Problem('conflict', 'Another account has claimed this participation. Nothing was changed.')
    if (row.account_id === null && !row.email_confirmed)
      throw new Problem(
        'forbidden',
        'An agent reported this address, and the organization has not confirmed it. Ask another owner of the project or an admin to confirm it (PATCH /api/projects/{id}/participants/{id}), then claim again. Nothing was changed.',
      )
    if (row.account_id === null && row.email_by !== null && [actor.id, ...actor.agents].includes(row.email_by))
      throw new Problem(
        'forbidden',
        'You, or your agent, added or confirmed this address, so it does not prove that the participation is yours. Ask another owner of the project or an admin to confirm it (PATCH /api/projects/{id}/participants/{id}), then claim again. Nothing was changed.',
      )
    const claimedAt = row.claimed_at ?? now
    if (row.account_id === null) await tx.projectParticipant.update({ where: { id }, data: { accountId, claimedAt } })
    return {
      body: { data: { id, claimed_at: claimedAt.toISOString() } },
      resourceId: id,
      details: { project: row.project_id },
    }
  }),
})

/** Use cases for the participants of a project, and for a person's own participations. */
export const projectParticipants = (
  ports: Pick<ProjectPorts, 'db' | 'isSuppressed' | 'regions'> & ParticipantExports,
) => {
  const { db } = ports
  return {
    /** The copy that a participant gets with a link. */
    participantCopy: (copy: { participantId: string; projectId: string; scope: Basis; now: Date }) =>
      participantDocument(ports.participantExporters, {
        ...copy,
        reader: {
          basis: copy.scope,
          id: copy.participantId,
          agents: [],
          organisationId: undefined,
          isAdmin: false,
          seesPrivate: true,
          until: copy.now,
        },
      }),

    participants: read(
      listParticipants,
      async (ctx, { params: { projectId }, query: { external_id, q, unconfirmed, ...query } }) => {
        const project = await seenProject(db, projectReaderOf(ctx), projectId)
        const listed = {
          project: projectId,
          externalId: external_id ?? null,
          search: q?.trim() || null,
          searchesEmails: mayActForParticipants(project),
          isUnconfirmed: unconfirmed === 'true',
          reader: restrictedReader(ctx.actor),
        }
        const rows = await participantsPage(db, { ...listed, ...pageValues(query) })
        const [counted] = await countListedParticipants(db, listed)
        const total = counted?.n ?? 0
        const { shown, page } = pageOf(rows, query.limit, total, ({ created_at: at, id }) => ({ at, id }))
        return {
          resourceId: projectId,
          details: { count: shown.length },
          body: { data: shown.map((row) => countedView(project, ctx.actor, row)), ...page },
        }
      },
    ),

    readParticipant: read(readParticipant, async (ctx, { params: { projectId, participantId } }) => {
      const project = await seenProject(db, projectReaderOf(ctx), projectId)
      const [row] = await countedParticipant(db, { id: participantId, project: projectId })
      if (!row) throw noParticipant()
      return {
        body: { data: countedView(project, ctx.actor, row) },
        resourceId: participantId,
        details: { project: projectId },
      }
    }),

    registerParticipant: register(ports),
    editParticipant: edit(),
    liftRestriction: lift(),
    exportParticipant: exported(ports),
    ...ownParticipations(ports),
  }
}
