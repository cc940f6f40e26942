import type { Context, MutationContext } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import type { Input } from '#lib/kernel/operation.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { mutation, preparedMutation, read } from '#lib/kernel/use-case.ts'
import { addShare, previewShare, readClade, setSharing } from './contract.ts'
import { originsOf } from './origins.ts'
import { canonicalText, packed, sealPayload } from './payload.ts'
import type { CladeAgent, CladePorts } from './ports.ts'
import { countUnfetched, countWaiting, lockClades, withdrawUnfetched } from './repository.ts'
import { decideGate, mostShares, pendingFor, type SharedKind } from './rules.ts'
import { analyzedEntry, entryToShare, type ShareOrder, strippedEntry } from './shareable-entry.ts'

const degraded = { degraded: ['presidio' as const] }
const digestOf = (digest: Uint8Array) => Buffer.from(digest).toString('base64url')

type Analyzed = Awaited<ReturnType<typeof analyzedEntry>>

/** Skips the analyzer when sharing is not allowed. The transaction returns the error, or the stored response of a repetition. */
async function analyzedFirst(
  ports: CladePorts,
  { actor, now }: Pick<Context, 'actor' | 'now'>,
  { params: { id }, body }: Input<typeof addShare>,
): Promise<Analyzed | undefined> {
  const agent = await ports.agents.own(actor, id)
  if (ports.recognise === undefined || agent.sharingSince === null) return undefined
  try {
    return await analyzedEntry(ports, agent, body, now)
  } catch (error) {
    if (Problem.is(error)) return undefined
    throw error
  }
}

/** An agent that shares with the siblings of its owner. */
interface SharingAgent extends CladeAgent {
  cladeId: string
  ownerId: string
}
async function sharingAgent({ agents }: CladePorts, { tx, actor }: MutationContext, id: string): Promise<SharingAgent> {
  const agent = await agents.writable(tx, actor, id)
  const { cladeId, ownerId, sharingSince } = agent
  if (sharingSince === null || cladeId === null || ownerId === null)
    throw new Problem(
      'wrong_state',
      'Sharing is off for this agent. Nothing was sent. Turn it on with PUT /v1/agents/{id}/clade/sharing.',
    )
  return { ...agent, cladeId, ownerId }
}

/** The stripped payload of an order. @throws Problem `invalid` below the confidence of its kind, or `conflict` after a change */
async function payloadToShare(
  { recognise, entriesOf, namesOf }: CladePorts,
  { tx, now }: MutationContext,
  agent: SharingAgent,
  order: ShareOrder & { digest?: string | undefined },
  analyzed: Analyzed | undefined,
) {
  const entry = await entryToShare(entriesOf, tx, agent.id, order, now)
  const names = await namesOf(tx, agent.ownerId)
  const { payload, removed, kind } = strippedEntry(entry, { names, found: analyzed?.found ?? [] }, order)
  const gate = decideGate(kind, payload.confidence)
  if (!gate.passes)
    throw invalid(['confidence'], `is ${payload.confidence}, but this kind requires at least ${gate.needed}`)
  const { text, digest } = packed(payload)
  if (recognise !== undefined && (!analyzed || canonicalText(analyzed.entry) !== canonicalText(entry)))
    throw new Problem('conflict', 'The entry changed during the analysis. Nothing was sent. Send the request again.')
  if (order.digest !== undefined && order.digest !== digestOf(digest))
    throw new Problem('conflict', 'The entry differs from the preview. Nothing was sent. Request a new preview.')
  return { text, digest, removed, kind, parents: payload.parents }
}

/** The siblings that receive a share: those named, or all. @throws Problem `not_found` or `conflict` */
async function recipients(
  { members }: CladePorts,
  { tx }: MutationContext,
  { id: agentId, cladeId, ownerId }: SharingAgent,
  named: readonly string[] | undefined,
): Promise<string[]> {
  await lockClades(tx, { ids: [cladeId] })
  const siblings = await members.siblingsOf(tx, { cladeId, ownerId, agentId })
  const to = named ? [...new Set(named)].sort() : siblings.map(({ id }) => id)
  if (!to.every((one) => siblings.some(({ id }) => id === one)))
    throw new Problem(
      'not_found',
      'One of these agents is not an active or paused sibling of this agent. Nothing was sent.',
    )
  if (to.length === 0)
    throw new Problem('conflict', 'This agent has no sibling that is active or paused. Nothing was sent.')
  if ((await tx.cladeShare.count({ where: { agentId, recalledAt: null } })) >= mostShares)
    throw new Problem(
      'conflict',
      `This agent has ${mostShares.toLocaleString('en')} active shares, which is the limit. Nothing was sent. Recall some shares first.`,
    )
  return to
}

/** Stores a share, and a delta to each recipient. */
async function storeShare(
  { key, sign, issuer }: CladePorts,
  { tx, now }: MutationContext,
  { id: agentId, cladeId }: SharingAgent,
  share: {
    entryId: string | undefined
    kind: SharedKind
    text: string
    digest: Uint8Array
    removed: object
    parents: string[]
    to: readonly string[]
  },
) {
  const { entryId, kind, text, digest, removed, parents, to } = share
  const id = newId('shr')
  const claims = {
    ...{ version: 1, issuer, share_id: id, clade_id: cladeId, agent_id: agentId, kind, removed },
    ...{ digest: digestOf(digest), shared_at: now.toISOString() },
  }
  const manifest = await sign(tx, 'clade-manifest', canonicalText(claims))
  await tx.cladeShare.create({
    data: {
      ...{ id, cladeId, agentId, kind, manifest, parents, sharedAt: now },
      // An entry without its own id is identified by the share id.
      entryId: entryId ?? id,
      sealed: new Uint8Array(sealPayload(key(), id, text)),
      digest: new Uint8Array(digest),
    },
  })
  const expiresAt = new Date(now.getTime() + pendingFor)
  await tx.cladeDelta.createMany({
    data: to.map((sibling) => ({ shareId: id, agentId: sibling, createdAt: now, expiresAt })),
  })
  return { id, manifest }
}

const overview = ({ db, agents, members }: Pick<CladePorts, 'db' | 'agents' | 'members'>) =>
  read(readClade, async ({ actor, now }, { params: { id } }) => {
    const agent = await agents.own(actor, id)
    const [siblings, unfetched, [waiting]] = await Promise.all([
      members.siblingsOf(db.prisma, { ...agent, agentId: id }),
      countUnfetched(db, { agent: id }),
      countWaiting(db, { agent: id, now }),
    ])
    return {
      resourceId: id,
      body: {
        data: {
          agent_id: id,
          clade_id: agent.cladeId,
          sharing_since: agent.sharingSince?.toISOString() ?? null,
          siblings: siblings.map((one) => ({
            agent_id: one.id,
            name: one.name,
            status: one.status,
            pending: unfetched.find(({ agent_id }) => agent_id === one.id)?.n ?? 0,
          })),
          pending: waiting?.n ?? 0,
        },
      },
    }
  })

const setSwitch = ({ agents, members }: Pick<CladePorts, 'agents' | 'members'>) =>
  mutation(setSharing, async ({ tx, actor, now }, { params: { id }, body: { on } }) => {
    const agent = await (on ? agents.writable : agents.locked)(tx, actor, id)
    if (on && agent.cladeId === null)
      throw new Problem(
        'conflict',
        'This agent has no siblings. Nothing was changed. To give it a sibling, create an agent with this agent as its `ancestor`.',
      )
    const since = on ? (agent.sharingSince ?? now) : null
    await members.setSharing(tx, id, since)
    if (!on && agent.cladeId !== null) await lockClades(tx, { ids: [agent.cladeId] })
    const withdrawn = on ? 0 : await withdrawUnfetched(tx, { agent: id })
    return {
      resourceId: id,
      details: { fields: ['sharing_since'], changed: (since === null) !== (agent.sharingSince === null) },
      body: { data: { agent_id: id, sharing_since: since?.toISOString() ?? null, withdrawn } },
    }
  })

const preview = (ports: CladePorts) =>
  read(previewShare, async ({ actor, now }, { params: { id }, body }) => {
    const agent = await ports.agents.own(actor, id)
    const { entry, isDegraded, ...known } = await analyzedEntry(ports, agent, body, now)
    const { payload, removed, kind } = strippedEntry(entry, known, body)
    const { digest } = packed(payload)
    const { confidence } = payload
    return {
      resourceId: id,
      resourceType: 'agent',
      details: { kind },
      body: {
        data: {
          payload: { ...payload, kind, tags: [...payload.tags], parents: [...payload.parents] },
          removed,
          digest: digestOf(digest),
          gate: { ...decideGate(kind, confidence), confidence },
          ...(isDegraded && degraded),
        },
      },
    }
  })

const share = (ports: CladePorts) =>
  preparedMutation(
    addShare,
    (ctx, input) => analyzedFirst(ports, ctx, input),
    async (ctx, { params: { id: agentId }, body }, analyzed) => {
      const agent = await sharingAgent(ports, ctx, agentId)
      const { parents, ...payload } = await payloadToShare(ports, ctx, agent, body, analyzed)
      const { kind, removed, digest } = payload
      const to = await recipients(ports, ctx, agent, body.siblings)
      const ancestry = { parents, own: body.entry_id, origins: body.origins }
      const origins = await originsOf(ports.entriesOf, ctx.tx, agent, ancestry, ctx.now)
      const stored = { ...payload, entryId: body.entry_id, parents: origins, to }
      const { id: shareId, manifest } = await storeShare(ports, ctx, agent, stored)
      return {
        resourceId: shareId,
        details: { agent_id: agentId, kind, removed, siblings: to.length },
        body: {
          data: {
            share_id: shareId,
            removed,
            digest: digestOf(digest),
            manifest,
            sent_to: to,
            shared_at: ctx.now.toISOString(),
            ...(analyzed?.isDegraded && degraded),
          },
        },
      }
    },
  )

/** Sharing with siblings: the switch, the preview and the share. */
export const cladeSharing = (ports: CladePorts) => ({
  readClade: overview(ports),
  setSharing: setSwitch(ports),
  previewShare: preview(ports),
  addShare: share(ports),
})
