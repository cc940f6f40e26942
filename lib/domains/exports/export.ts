import { localeOf } from '#lib/domains/accounts/queries.ts'
import { enqueueNotice } from '#lib/domains/accounts/writes.ts'
import { agentOf, profileOf } from '#lib/domains/agents/queries.ts'
import { isAttributed } from '#lib/domains/knowledge/queries.ts'
import { agentCopyRequest } from '#lib/domains/privacy-requests/queries.ts'
import { tierLimits } from '#lib/domains/tokens/rules.ts'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import { guardExport } from '#lib/kernel/guards.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { stream } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { zipArchive } from './archive.ts'
import { exportAgent, type formats } from './contract.ts'
import { type DocumentHead, type ExportPart, exportPartsOf, jsonDocument, ndjsonDocument } from './document.ts'
import type { IndexLanguage } from './index-words.ts'
import type { ExportsDeps } from './prepared.ts'
import { beginExport } from './quota.ts'
import { schemaVersion } from './rules.ts'

type Format = (typeof formats)[number]

const mediaTypes: Record<Format, string> = {
  json: 'application/json',
  ndjson: 'application/x-ndjson',
  zip: 'application/zip',
}
const body = (
  format: Format,
  head: DocumentHead,
  parts: readonly ExportPart[],
  locale: IndexLanguage,
): AsyncIterable<string | Uint8Array> => {
  switch (format) {
    case 'json':
      return jsonDocument(head, parts)
    case 'ndjson':
      return ndjsonDocument(head, parts)
    case 'zip':
      return zipArchive(head, parts, { locale })
  }
}

/**
 * Returns the agent whose quota the export uses, if any. An admin can also export somebody who is not an agent but is
 * named by units.
 */
async function payerOf(db: Database, { actor }: Context, agentId: string) {
  const isOwn = actor.agents.includes(agentId)
  const agent = isOwn || actor.isAdmin ? await profileOf(db, agentId) : null
  const quota = agent ? tierLimits[agent.tier] : undefined
  if (!quota && !(actor.isAdmin && (await isAttributed(db, agentId))))
    throw new Problem('not_found', 'There is no such agent, or it is not yours to export.')
  return isOwn && quota ? { agentId, ...quota } : undefined
}

/** Sends the owner of the agent, if it has one, an email about the export. */
async function notifyOwner(tx: Transaction, agentId: string, now: Date): Promise<void> {
  const owner = (await agentOf(tx, agentId))?.ownerId
  if (owner) await enqueueNotice(tx, { kind: 'data-exported', accountId: owner, agentId, at: now.toISOString() })
}

export const agentExport = ({ db, exporters }: Pick<ExportsDeps, 'db' | 'exporters'>) =>
  stream(exportAgent, async (ctx, { params: { agent_id: agentId }, query: { format, scope } }) => {
    const { actor, now } = ctx
    // Anonymous reading covers units of the network, never an export.
    if (actor.kind === 'anonymous') throw new Problem('token_missing')
    const payer = await payerOf(db, ctx, agentId)
    const isOwn = payer !== undefined
    const request = isOwn ? undefined : await agentCopyRequest(db, agentId, now)
    const seesPrivate = guardExport(ctx, { isOwn, isRequested: request !== undefined })
    await ctx.pipeline.transaction(async (tx) => {
      await beginExport(tx, {
        subjectId: agentId,
        subjectKind: 'agent',
        payer,
        requestedBy: actor.id,
        format,
        basis: scope,
        now,
      })
      if (!isOwn && seesPrivate) await notifyOwner(tx, agentId, now)
    })
    const { id, agents, organisationId, isAdmin } = actor
    const parts = exportPartsOf(exporters, agentId, {
      basis: scope,
      id,
      agents,
      organisationId,
      isAdmin,
      seesPrivate,
      until: now,
    })
    const mark: Pick<DocumentHead, 'exported_by' | 'private_content' | 'request_id'> = isOwn
      ? {}
      : {
          exported_by: id,
          private_content: seesPrivate ? 'included' : 'left_out',
          ...(request !== undefined && { request_id: request }),
        }
    const locale = actor.accountId === undefined ? 'en' : await localeOf(db, actor.accountId)
    const head = { agent_id: agentId, exported_at: now.toISOString(), schema_version: schemaVersion, scope, ...mark }
    return {
      body: body(format, head, parts, locale),
      resourceId: agentId,
      details: { format, scope, ...(!isOwn && { private_content: mark.private_content, request: request ?? null }) },
      headers: {
        'Content-Type': mediaTypes[format],
        'Content-Disposition': `attachment; filename="export-${agentId.replaceAll(/[^\w.-]/g, '_').slice(0, 64)}.${format}"`,
      },
    }
  })
