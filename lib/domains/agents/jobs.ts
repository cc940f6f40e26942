import { z } from 'zod'
import { dropOrganisationIfEmpty } from '#lib/domains/accounts/writes.ts'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import { job } from '#lib/kernel/job.ts'
import { notePurge } from '#lib/kernel/purging.ts'
import { lockHolds } from '#lib/stores/postgres/agents-under-legal-hold.ts'
import { type DocumentKeys, sealedTexts } from './life/document-seals.ts'
import { deleteExpiredDocuments, deleteHeartbeatsOfRetired, lockOpenDocuments } from './life/repository.ts'
import { heartbeatsAfterRetirement } from './life/rules.ts'
import { deleteNetworks, deleteOldInvites, deleteUnusedAgents } from './repository.ts'
import { inviteRetention, registrationWindow, unusedAfter } from './rules.ts'

const batch = 1_000

/** Clean-up jobs. Registration has no rate limit, so unused agents must be deleted. */
export function agentsJobs() {
  /** Deletes a batch of unowned agents that never used a token, together with their tokens. */
  async function removeUnused(ctx: Context, tx: Transaction): Promise<number> {
    const before = new Date(ctx.now.getTime() - unusedAfter)
    await lockHolds(tx)
    const deleted = await deleteUnusedAgents(tx, { before, now: ctx.now, limit: batch })
    for (const id of new Set(deleted.map((row) => row.organisation_id))) await dropOrganisationIfEmpty(tx, id)
    return notePurge(ctx, tx, {
      what: 'agents that never used a token',
      results: { agentsDeleted: deleted.length },
      resourceType: 'agent',
      resourceId: 'unused',
    })
  }

  return [
    job({
      name: 'agents.purge-unused',
      payload: z.unknown(),
      cron: '11 * * * *',
      async run(ctx) {
        while ((await ctx.pipeline.transaction((tx) => removeUnused(ctx, tx))) === batch);
        const before = new Date(ctx.now.getTime() - registrationWindow)
        await ctx.pipeline.transaction((tx) => deleteNetworks(tx, { before }))
      },
    }),
    job({
      name: 'agents.purge-invites',
      payload: z.unknown(),
      cron: '17 3 * * *',
      async run(ctx) {
        const before = new Date(ctx.now.getTime() - inviteRetention)
        while ((await ctx.pipeline.transaction((tx) => deleteOldInvites(tx, { before, limit: batch }))) === batch);
      },
    }),
  ]
}

const heartbeatBatch = 5_000
const documentBatch = 20

/** Deletes a batch of documents that are older than their owner set; those under a legal hold are deleted when it ends. */
async function removeExpiredDocuments(ctx: Context, tx: Transaction): Promise<number> {
  await lockHolds(tx)
  const agentDocumentsDeleted = await deleteExpiredDocuments(tx, { now: ctx.now, limit: batch })
  return notePurge(ctx, tx, {
    what: 'agent documents that expired',
    results: { agentDocumentsDeleted },
    resourceType: 'agent_document',
    resourceId: 'ended',
  })
}

/** Seals a batch of documents that an earlier version stored in plain text. Their content and revision do not change. */
async function sealOpenDocuments(tx: Transaction, keys: DocumentKeys): Promise<number> {
  const documents = await lockOpenDocuments(tx, { limit: documentBatch })
  for (const { id, title, body } of documents)
    await tx.agentDocument.update({ where: { id }, data: sealedTexts(keys, id, { title, body }) })
  return documents.length
}

/** Deletes heartbeats 24 hours after an agent was retired; those under a legal hold are deleted when it ends. */
export function lifeJobs(documentKeys: DocumentKeys) {
  async function removeOfDead(ctx: Context, tx: Transaction): Promise<number> {
    const before = new Date(ctx.now.getTime() - heartbeatsAfterRetirement)
    await lockHolds(tx)
    const heartbeatsDeleted = await deleteHeartbeatsOfRetired(tx, { before, now: ctx.now, limit: heartbeatBatch })
    return notePurge(ctx, tx, {
      what: 'heartbeats of agents that died',
      results: { heartbeatsDeleted },
      resourceType: 'heartbeat',
      resourceId: 'of-the-dead',
    })
  }

  return [
    job({
      name: 'agents.purge-heartbeats',
      payload: z.unknown(),
      cron: '*/10 * * * *',
      async run(ctx) {
        while ((await ctx.pipeline.transaction((tx) => removeOfDead(ctx, tx))) === heartbeatBatch);
      },
    }),
    job({
      name: 'agents.purge-documents',
      payload: z.unknown(),
      cron: '29 * * * *',
      async run(ctx) {
        while ((await ctx.pipeline.transaction((tx) => removeExpiredDocuments(ctx, tx))) === batch);
      },
    }),
    job({
      name: 'agents.seal-documents',
      payload: z.unknown(),
      cron: '*/5 * * * *',
      async run(ctx) {
        while ((await ctx.pipeline.transaction((tx) => sealOpenDocuments(tx, documentKeys))) === documentBatch);
      },
    }),
  ]
}
