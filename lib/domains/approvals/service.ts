import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { seal, sealedPurposes, unsealed } from '#lib/config/secret.ts'
import { accountDirectory, activeAdminIds } from '#lib/domains/accounts/queries.ts'
import { enqueueNotice } from '#lib/domains/accounts/writes.ts'
import { storedSetting } from '#lib/domains/settings/writes.ts'
import {
  type Approvable,
  type ApprovalFacts,
  type ApprovalRequest,
  approvable,
  canonicalInput,
  type RequireApproval,
} from '#lib/kernel/approval.ts'
import type { Actor, MutationContext, Transaction } from '#lib/kernel/context.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import type { ErasureScope, Subject } from '#lib/kernel/erasure-scope.ts'
import type { PersonExporter } from '#lib/kernel/exporter.ts'
import { newId } from '#lib/kernel/ids.ts'
import { job } from '#lib/kernel/job.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import type { OperationShape, RawInput } from '#lib/kernel/operation.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, parseInput, read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { jsonObject, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'
import {
  changeApprovalSetting,
  decideProposal,
  listProposals,
  type ProposalView,
  propose,
  readApprovalSetting,
} from './contract.ts'
import {
  closeProposal,
  countProposed,
  deleteProposals,
  expireProposals,
  lockedOpenProposals,
  lockedProposal,
  lockProposer,
  type ProposalRow,
  proposalIdsOf,
  proposalInventory,
  proposalResidue,
  recentProposals,
  storeApproval,
  storeRejection,
} from './repository.ts'
import {
  approvableOperations,
  closedProposalRetention,
  maxOpenProposals,
  maxProposalsPerDay,
  proposalLife,
  statusAt,
} from './rules.ts'

const maxListed = 100
const day = 86_400_000

/** @throws Problem `forbidden` for tokens, which do not identify a person */
function adminOf({ accountId, isAdmin }: Actor): string {
  if (accountId === undefined || !isAdmin)
    throw new Problem('forbidden', 'This operation requires the session of an admin. Nothing was changed.')
  return accountId
}

interface Viewing {
  tx: Transaction
  actor: Actor
  now: Date
}

/** The params and the body of a proposed request, before they are parsed. */
interface ProposedInput {
  params: Record<string, unknown> | null
  body: Record<string, unknown> | null
}
/** The content of a proposal that is stored encrypted. */
interface ProposalContent extends ProposedInput {
  facts: ApprovalFacts['facts']
}

const rawOf = ({ params, body }: ProposedInput, { body: takesBody }: OperationShape): RawInput => ({
  params: Object.fromEntries(Object.entries(params ?? {}).map(([name, value]) => [name, String(value)])),
  query: {},
  headers: {},
  body: takesBody ? (body ?? undefined) : undefined,
})

/** Undefined if the error is a problem: the action is not valid or not possible. */
async function unlessRefused<T>(work: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (Problem.is(error)) return undefined
    throw error
  }
}

export interface ApprovalDeps {
  db: Database
  /** Seals what a proposal would do. */
  key: () => Uint8Array
  setting: {
    read(on?: Transaction): Promise<boolean>
    store(tx: Transaction, value: boolean, change: { now: Date; by: string }): Promise<void>
  }
  approvables: readonly Approvable[]
}

/** Reads and writes what proposals would do. */
function proposedActions({ approvables, key }: Pick<ApprovalDeps, 'approvables' | 'key'>) {
  const actions = new Map(approvables.map((action) => [action.operation.id, action]))
  const inputOf = (action: Approvable, given: ProposedInput): ApprovalRequest['input'] =>
    parseInput(action.operation, rawOf(given, action.operation))
  const contentOf = ({ id, content }: Pick<ProposalRow, 'id' | 'content'>): ProposalContent | undefined => {
    const text = content ? unsealed(key(), content, id) : undefined
    return text && (JSON.parse(text.toString('utf8')) as ProposalContent)
  }
  return {
    actionOf: (operation: string): Approvable | undefined => actions.get(operation),
    contentOf,
    sealedFor: (id: string, content: ProposalContent) =>
      new Uint8Array(seal(key(), Buffer.from(JSON.stringify(content)), id)),

    /** The canonical input. @throws Problem `invalid` */
    canonicalOf: (action: Approvable, given: ProposedInput): string => canonicalInput(inputOf(action, given)),
    /** @throws Problem for invalid input, and if the action is not possible */
    explain: (tx: Transaction, action: Approvable, given: ProposedInput): Promise<ApprovalFacts> =>
      action.explain(tx, rawOf(given, action.operation)),

    /** The proposal for exactly this input. Proposals that this version cannot read do not match. */
    async matching(
      rows: readonly ProposalRow[],
      action: Approvable,
      canonical: string,
    ): Promise<ProposalRow | undefined> {
      for (const row of rows) {
        const content = contentOf(row)
        const own = content && (await unlessRefused(() => canonicalInput(inputOf(action, content))))
        if (own === canonical) return row
      }
      return undefined
    },
    /** False if what the action depends on has changed since the proposal, or if it is no longer possible. */
    async isCurrent(tx: Transaction, row: ProposalRow): Promise<boolean> {
      const [action, content] = [actions.get(row.operation), contentOf(row)]
      if (!action || !content) return false
      const now = await unlessRefused(() => action.explain(tx, rawOf(content, action.operation)))
      return now !== undefined && isDeepStrictEqual(now.facts, content.facts)
    },
  }
}
type ProposedActions = ReturnType<typeof proposedActions>

/** Presents proposals to an admin. */
const presenting =
  (actions: ProposedActions) =>
  async (rows: readonly ProposalRow[], { tx, actor, now }: Viewing): Promise<z.input<typeof ProposalView>[]> => {
    const ids = rows.flatMap(({ account_id, decided_by }) => [account_id, ...(decided_by ? [decided_by] : [])])
    const names = await accountDirectory.namesOf(tx, [...new Set(ids)])
    const admin = (id: string) => ({ account_id: id, name: names.get(id) ?? null })
    return rows.flatMap((row): z.input<typeof ProposalView>[] => {
      const operation = approvableOperations.find((one) => one === row.operation)
      const action = operation && actions.actionOf(operation)
      // A later version may have stored operations that this one does not know.
      if (!operation || !action) return []
      const status = statusAt(row.status, row.expires_at, now)
      const content = status === 'waiting' || status === 'approved' ? actions.contentOf(row) : undefined
      const { method, path } = action.operation
      return [
        {
          proposal_id: row.id,
          operation,
          status,
          proposed_by: admin(row.account_id),
          decided_by: row.decided_by === null ? null : admin(row.decided_by),
          is_own: row.account_id === actor.accountId,
          facts: content?.facts ?? null,
          request: content ? { method, path, params: content.params, body: content.body } : null,
          created_at: row.created_at,
          expires_at: row.expires_at,
          decided_at: row.decided_at,
          carried_out_at: row.carried_out_at,
        },
      ]
    })
  }
type Present = ReturnType<typeof presenting>

async function replyWith(present: Present, ctx: MutationContext, id: string, details: Record<string, unknown>) {
  const [data] = await present(await lockedProposal(ctx.tx, { id }), ctx)
  if (!data) throw new Error('The proposal does not exist.')
  return { resourceId: id, body: { data }, details }
}

/** Locks the proposer. @throws Problem `conflict` if the admin has too many proposals, or an open one for the same action */
async function refuseExcess(
  { tx, now }: MutationContext,
  { account, action, given }: { account: string; action: Approvable; given: ProposedInput },
  actions: ProposedActions,
): Promise<void> {
  await lockProposer(tx, { account })
  const open = await lockedOpenProposals(tx, { account, operation: null, now })
  const same = open.filter(({ operation }) => operation === action.operation.id)
  const twin = await actions.matching(same, action, actions.canonicalOf(action, given))
  if (twin)
    throw new Problem('conflict', {
      detail: 'You have already proposed exactly this. Nothing was changed.',
      extensions: { proposal_id: twin.id },
    })
  if (open.length >= maxOpenProposals)
    throw new Problem('conflict', `You have ${maxOpenProposals} open proposals. Withdraw one first.`)
  const [today] = await countProposed(tx, { account, since: new Date(now.getTime() - day) })
  if ((today?.n ?? 0) >= maxProposalsPerDay)
    throw new Problem('conflict', `You have made ${maxProposalsPerDay} proposals within a day. Try again tomorrow.`)
}

const proposing = (deps: ApprovalDeps, actions: ProposedActions, present: Present) =>
  mutation(propose, async (ctx, { body: { operation, params, body } }) => {
    const { tx, now } = ctx
    const account = adminOf(ctx.actor)
    const action = actions.actionOf(operation)
    if (!action) throw new Problem('not_found', 'This operation cannot be approved.')
    if (!(await deps.setting.read(tx)))
      throw new Problem('wrong_state', 'No approval is required. Carry out the action directly. Nothing was proposed.')
    const given = { params, body }
    const { facts, subjects = [] } = await actions.explain(tx, action, given)
    await refuseExcess(ctx, { account, action, given }, actions)
    const id = newId('app')
    await tx.approvalProposal.create({
      data: {
        id,
        operation,
        accountId: account,
        subjectIds: [...subjects],
        status: 'waiting',
        createdAt: now,
        expiresAt: new Date(now.getTime() + proposalLife),
        content: actions.sealedFor(id, { ...given, facts }),
      },
    })
    const others = (await activeAdminIds(tx)).filter((one) => one !== account)
    for (const other of others) await enqueueNotice(tx, { kind: 'approval-requested', accountId: other, at: now })
    return replyWith(present, ctx, id, { action: operation, admins: others.length })
  })

/**
 * @throws Problem `forbidden` for proposers who decide, for others who withdraw, and for the person whom the action concerns, who can only
 * reject it; `wrong_state` for closed proposals
 */
function refuseDecision(row: ProposalRow, account: string, decision: string, now: Date): void {
  const isOwn = row.account_id === account
  if (isOwn !== (decision === 'withdraw'))
    throw new Problem(
      'forbidden',
      isOwn ? 'Another admin has to decide your proposal.' : 'Only the proposer can withdraw a proposal.',
    )
  // The action may have given the proposer this account: an email with a new password, for example.
  if (decision === 'approve' && row.subject_ids.includes(account))
    throw new Problem(
      'forbidden',
      'This action concerns your own account, so a third admin has to approve it. You can reject it. Nothing was changed.',
    )
  const status = statusAt(row.status, row.expires_at, now)
  if (status !== 'waiting' && !(decision === 'withdraw' && status === 'approved'))
    throw new Problem('wrong_state', `This proposal is no longer waiting (${status}). Nothing was changed.`)
}

const deciding = (_deps: ApprovalDeps, actions: ProposedActions, present: Present) =>
  mutation(decideProposal, async (ctx, { params: { id }, body: { decision } }) => {
    const { tx, now } = ctx
    const account = adminOf(ctx.actor)
    const [row] = await lockedProposal(tx, { id })
    if (!row) throw new Problem('not_found', 'There is no such proposal.')
    refuseDecision(row, account, decision, now)
    const { account_id: proposer, operation } = row
    const details = { action: operation, proposed_by: `user:${proposer}` }
    if (decision === 'withdraw') await closeProposal(tx, { id, status: 'withdrawn', now })
    else if (decision === 'reject') await storeRejection(tx, { id, by: account, now })
    else {
      const isAdmin = (await activeAdminIds(tx)).includes(proposer)
      if (!isAdmin || !(await actions.isCurrent(tx, row))) {
        await closeProposal(tx, { id, status: 'outdated', now })
        return replyWith(present, ctx, id, { ...details, decision: 'outdated' })
      }
      await storeApproval(tx, { id, by: account, now })
    }
    if (decision !== 'withdraw')
      await enqueueNotice(tx, {
        kind: 'approval-decided',
        accountId: proposer,
        at: now,
        decision: decision === 'approve' ? 'approved' : 'rejected',
      })
    return replyWith(present, ctx, id, { ...details, decision })
  })

const missing = (detail: string, operation?: string) =>
  new Problem('approval_required', { detail, ...(operation !== undefined && { extensions: { operation } }) })

/** What to do about an action without an approval. */
async function refusalOf(ctx: MutationContext, operation: string): Promise<Problem> {
  const admins = await activeAdminIds(ctx.tx)
  return admins.length < 2
    ? missing(
        'Another admin must approve this, but there is only one active admin. Add an admin on the server (kp admin account), or end the requirement there (kp admin lift-approvals). Nothing was changed.',
      )
    : ctx.actor.isAdmin
      ? missing(
          'Another admin must approve this. Propose it (POST /api/admin/proposals), and repeat it after the approval. Nothing was changed.',
          operation,
        )
      : missing('Two admins must agree to this. Ask an admin to do it. Nothing was changed.')
}

/** Closes a proposal whose premise has changed. The transaction of the action is rolled back. */
const outdated = ({ actor, ip, now, pipeline }: MutationContext, { id, operation }: ProposalRow) =>
  new Problem('conflict', {
    detail:
      'Since the proposal, the target of this action has changed, or the approver is no longer an active admin. Nothing was changed. Propose it again.',
    afterRollback: () =>
      pipeline.transaction(async (tx) => {
        if ((await closeProposal(tx, { id, status: 'outdated', now })) === 0) return
        await pipeline.auditWithin(tx, {
          action: 'update',
          actorId: actor.id,
          ip,
          at: now,
          resourceType: 'approval',
          resourceId: id,
          details: { decision: 'outdated', action: operation },
        })
      }),
  })

/** Lets actions pass that another admin has approved, once each. */
function approvalEnforcement(deps: ApprovalDeps, actions: ProposedActions): RequireApproval {
  async function consume(ctx: MutationContext, row: ProposalRow): Promise<void> {
    const { tx, now, actor, ip, pipeline } = ctx
    const approver = row.decided_by
    const isStillAdmin = approver !== null && (await activeAdminIds(tx)).includes(approver)
    if (!isStillAdmin || !(await actions.isCurrent(tx, row))) throw outdated(ctx, row)
    await closeProposal(tx, { id: row.id, status: 'carried_out', now })
    await pipeline.auditWithin(tx, {
      action: 'update',
      actorId: actor.id,
      ip,
      at: now,
      resourceType: 'approval',
      resourceId: row.id,
      details: { decision: 'carry_out', action: row.operation, approved_by: `user:${approver}` },
    })
  }

  return async (ctx, request) => {
    const { tx, now, actor } = ctx
    if (!(await deps.setting.read(tx))) return
    if (actor.accountId === undefined)
      throw missing('Another admin must approve this, so a token cannot do it. Use the console. Nothing was changed.')
    const action = request && actions.actionOf(request.operation.id)
    if (!action)
      throw missing(
        'A token with the scope admin needs the approval of another admin. Create it separately (POST /v1/auth/tokens). Nothing was changed.',
      )
    const { id: operation } = action.operation
    const open = await lockedOpenProposals(tx, { account: actor.accountId, operation, now })
    const approved = open.filter(({ status }) => status === 'approved')
    const own = await actions.matching(approved, action, canonicalInput(request.input))
    if (!own) throw await refusalOf(ctx, operation)
    await consume(ctx, own)
  }
}

const resourceId = 'two_person_approval'

/** Use cases of the setting that requires approvals. Turning it off needs an approval itself. */
const approvalSetting = ({ db, setting }: ApprovalDeps, requireApproval: RequireApproval) => ({
  readSetting: read(readApprovalSetting, async () => ({
    resourceId,
    body: { data: { is_on: await setting.read(), active_admins: (await activeAdminIds(db)).length } },
  })),

  changeSetting: mutation(changeApprovalSetting, async (ctx, { body }) => {
    if (ctx.actor.accountId === undefined)
      throw new Problem('forbidden', 'This operation requires the session of an admin. Nothing was changed.')
    const before = await setting.read(ctx.tx)
    const { length: admins } = await activeAdminIds(ctx.tx)
    if (body.is_on && !before && admins < 2)
      throw new Problem('wrong_state', 'This needs at least two active admins. Nothing was changed.')
    if (before && !body.is_on) await requireApproval(ctx, { operation: changeApprovalSetting, input: { body } })
    await setting.store(ctx.tx, body.is_on, { now: ctx.now, by: ctx.actor.id })
    return {
      resourceId,
      body: { data: { is_on: body.is_on, active_admins: admins } },
      details: { fields: [resourceId], from: before, to: body.is_on },
    }
  }),

  /** Whether approvals are required. */
  isRequired: (): Promise<boolean> => setting.read(),

  /** Turns the setting off on behalf of the operator. Returns whether it was on. */
  async liftApprovals(tx: Transaction, change: { now: Date; by: string }): Promise<boolean> {
    const before = await setting.read(tx)
    await setting.store(tx, false, change)
    return before
  },
})

/** Proposals of consequential actions, which a second admin approves. The proposer then carries out exactly what was approved, once. */
function approvalsService(deps: ApprovalDeps) {
  const actions = proposedActions(deps)
  const present = presenting(actions)
  const requireApproval = approvalEnforcement(deps, actions)
  return {
    requireApproval,
    list: read(listProposals, async ({ actor, now }) => {
      adminOf(actor)
      const rows = await recentProposals(deps.db, { now, limit: maxListed })
      return {
        resourceId: 'list',
        details: { count: rows.length },
        body: { data: await present(rows, { tx: deps.db.prisma, actor, now }) },
      }
    }),
    propose: proposing(deps, actions, present),
    decide: deciding(deps, actions, present),
    ...approvalSetting(deps, requireApproval),
  }
}

const subjectOf = (scope: ErasureScope): Pick<Subject, 'account' | 'agents'> | undefined =>
  'subject' in scope ? scope.subject : undefined

/** Proposals that a person made or decided, and proposals about the person or the person's agents. */
const proposalDataSource = (db: Database): DataSource => ({
  name: 'approvals.proposals',
  store: 'postgresql',
  stage: 'account',
  what: 'proposed actions of admins: who proposed and decided them, and until they are closed, what they would do',
  purpose: 'to let a second admin approve consequential actions',
  kept: '90 days after they expire, which they do after 72 hours; what they would do: until they are closed',
  tables: ['approval_proposals'],
  async inventory({ account, agents }) {
    const [row] = await proposalInventory(db, { account, agents })
    return {
      count: row?.n ?? 0,
      since: row?.since ?? null,
      until: row?.until ? new Date(row.until.getTime() + closedProposalRetention) : null,
    }
  },
  async plan(scope, tx) {
    const subject = subjectOf(scope)
    const rows = subject ? await proposalIdsOf(tx, { account: subject.account, agents: subject.agents }) : []
    return { items: rows.map(({ id }) => id), held: {} }
  },
  erase: (_scope, items, tx) => deleteProposals(tx, { ids: items }),
  async residue(scope, items) {
    const subject = subjectOf(scope)
    if (!subject) return 0
    const [row] = await proposalResidue(db, { account: subject.account, agents: subject.agents, ids: items })
    return row?.n ?? 0
  },
})

/** Proposals that the person made or decided, or that are about the person. What they would do is omitted: it may be about other people. */
const proposalExporter = (db: Database): PersonExporter => ({
  part: 'proposals',
  bases: ['all'],
  tables: ['approval_proposals'],
  pages: (accountId, { until }) =>
    recordPages(db, {
      from: 'approval_proposals p',
      where: '($1 IN (p.account_id, p.decided_by) OR $1 = ANY(p.subject_ids)) AND p.created_at <= $2',
      values: [accountId, until],
      at: 'p.created_at',
      id: 'p.id',
      columns: 'p.*, p.account_id = $1 AS proposed, p.decided_by = $1 AS decided',
      record: jsonObject({
        proposal_id: 'c.id',
        operation: 'c.operation',
        status: 'c.status',
        you_proposed: 'c.proposed',
        you_decided: 'coalesce(c.decided, FALSE)',
        created_at: utc('c.created_at'),
        expires_at: utc('c.expires_at'),
        decided_at: utc('c.decided_at'),
        carried_out_at: utc('c.carried_out_at'),
      }),
    }),
})

export const approvalsData = (db: Database): PersonalData => ({
  dataSources: [proposalDataSource(db)],
  personExporters: [proposalExporter(db)],
})

/** Actions that need the approval of a second admin. */
export const approvalsModule = ({
  db,
  keyFor,
  approvables,
}: {
  db: Database
  keyFor(purpose: string): () => Uint8Array
  /** The actions of other domains that can need an approval. */
  approvables: readonly Approvable[]
}) => ({
  useCases: {
    approvals: approvalsService({
      db,
      key: keyFor(sealedPurposes.proposals),
      setting: storedSetting(db, { name: 'two_person_approval', schema: z.boolean(), fallback: false }),
      approvables: [
        ...approvables,
        approvable(changeApprovalSetting, async (_tx, { body }) => ({ facts: { is_on: body.is_on } })),
      ],
    }),
  },
  jobs: [
    job({
      name: 'approvals.upkeep',
      payload: z.unknown(),
      cron: '29 * * * *',
      async run({ actor, now, pipeline }) {
        await pipeline.transaction(async (tx) => {
          const expired = await expireProposals(tx, { now })
          await pipeline.auditWithin(
            tx,
            ...expired.map(({ id, operation }) => ({
              action: 'update' as const,
              actorId: actor.id,
              ip: '',
              at: now,
              resourceType: 'approval',
              resourceId: id,
              details: { decision: 'expire', action: operation },
            })),
          )
        })
        const before = new Date(now.getTime() - closedProposalRetention)
        await db.prisma.approvalProposal.deleteMany({ where: { expiresAt: { lt: before } } })
      },
    }),
  ],
})
