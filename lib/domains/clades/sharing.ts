import { z } from 'zod'
import { DepthError } from '#lib/domains/sanitizer/fields.ts'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import type { Input } from '#lib/kernel/operation.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { mutation, preparedMutation, read } from '#lib/kernel/use-case.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'
import { addShare, type EntryBody, previewShare, readClade, setSharing } from './contract.ts'
import { canonicalText, packed, sealPayload } from './payload.ts'
import type { CladeAgent, CladePorts, OwnEntry } from './ports.ts'
import { lockClade } from './recalling.ts'
import { recognised } from './recognising.ts'
import { decideGate, isShared, mostGenerations, mostShares, pendingFor, type SharedKind, shareIdForm } from './rules.ts'
import { strippedKinds } from './strip-kinds.ts'
import { type ShareableEntry, type StrippedEntry, stripEntry } from './strip-rules.ts'
import type { AnalyzerMatch } from './strip-texts.ts'

interface ShareOrder {
  entry_id?: string | undefined
  entry?: EntryBody | undefined
  removed?: StrippedEntry['removed'] | undefined
  origins?: string[] | undefined
}

const AnyJson = z.json()
const degraded = { degraded: ['presidio' as const] }
const sent = (body: EntryBody): ShareableEntry => ({
  ...body,
  provenance: body.provenance ?? null,
  valid_from: body.valid_from?.toISOString() ?? null,
  valid_until: body.valid_until?.toISOString() ?? null,
})
const stored = (entry: OwnEntry): ShareableEntry => ({
  kind: entry.kind,
  content: AnyJson.parse(entry.content),
  confidence: entry.confidence ?? 0,
  tags: entry.tags,
  provenance: AnyJson.parse(entry.provenance ?? null),
  parents: entry.parents,
  valid_from: entry.valid_from,
  valid_until: entry.valid_until,
})

/** What the owner's client already removed from a private entry. */
const before = ({ entry, removed }: ShareOrder): StrippedEntry['removed'] => (entry ? (removed ?? {}) : {})
const sumOf = (one: StrippedEntry['removed'], other: StrippedEntry['removed']): StrippedEntry['removed'] =>
  Object.fromEntries(
    strippedKinds.flatMap((kind) => {
      const count = (one[kind] ?? 0) + (other[kind] ?? 0)
      return count > 0 ? [[kind, count]] : []
    }),
  )

/** Sharing with siblings: the switch, the preview and the share. */
export function cladeSharing({ db, key, agents, members, entriesOf, namesOf, recognise, sign, issuer }: CladePorts) {
  async function entryOf(tx: Transaction, agentId: string, asked: ShareOrder, now: Date): Promise<ShareableEntry> {
    const { entry_id: id } = asked
    if (id === undefined) {
      if (asked.entry) return sent(asked.entry)
      throw invalid(['entry_id'], 'is needed, or `entry`')
    }
    const found = (await entriesOf(tx, agentId, [id], now)).get(id)
    if (!found) throw new Problem('not_found', 'There is no such entry of this agent, or it has ended.')
    if (asked.entry) return sent(asked.entry)
    if (found === 'private')
      throw new Problem(
        'conflict',
        'This entry is private, and nobody here can read it. Nothing was sent: open it in the console or by `kp clade share`, which send it stripped.',
      )
    return stored(found)
  }

  function strippedOf(
    entry: ShareableEntry,
    known: { names: readonly string[]; found?: readonly AnalyzerMatch[] },
    before: StrippedEntry['removed'] = {},
  ): StrippedEntry & { kind: SharedKind } {
    const { kind } = entry
    if (!isShared(kind)) throw invalid(['kind'], 'an episode is never shared')
    try {
      const { payload, removed } = stripEntry(entry, known)
      return { payload, removed: sumOf(before, removed), kind }
    } catch (error) {
      if (DepthError.is(error)) throw invalid(['entry', 'content'], 'is nested deeper than 100 objects and arrays')
      throw error
    }
  }

  /**
   * Shares of siblings that the entry derives from, through the agent's own entries. `told` are origins that the
   * client found through private entries.
   * @throws Problem `conflict` when an origin was recalled or a part of the ancestry cannot be read
   */
  async function originsOf(
    tx: Transaction,
    agent: CladeAgent,
    {
      parents,
      own,
      told,
    }: { parents: readonly string[]; own: string | undefined; told: readonly string[] | undefined },
    now: Date,
  ): Promise<string[]> {
    const origins = new Set<string>(told)
    const seen = new Set<string>()
    let next = [...parents, ...(own === undefined ? [] : [own])]
    for (let generation = 0; next.length > 0 && generation < mostGenerations; generation++) {
      const fresh = next.filter((id) => !seen.has(id))
      for (const id of fresh) {
        seen.add(id)
        if (shareIdForm.test(id)) origins.add(id)
      }
      const entries = await entriesOf(
        tx,
        agent.id,
        fresh.filter((id) => id.startsWith('ent_')),
        now,
      )
      // The client has opened the entry that it shares, so only its private parents are a problem.
      if (told === undefined && [...entries].some(([id, entry]) => entry === 'private' && id !== own))
        throw new Problem(
          'conflict',
          'It was made from a private entry, and nobody here can read what that was made from. Nothing was sent: `kp clade share` looks it up where it is opened, and sends it as `origins`.',
        )
      next = [...entries.values()].flatMap((entry) => (entry === 'private' ? [] : entry.parents))
    }
    if (next.some((id) => !seen.has(id)))
      throw new Problem(
        'conflict',
        `What it was made from goes back more than ${mostGenerations} generations, and a recall would not reach it. Nothing was sent.`,
      )
    if (origins.size === 0) return []
    const known = await queryWithin<{ id: string; recalled: boolean }>(
      tx,
      'clade-origins',
      'SELECT id, recalled_at IS NOT NULL AS recalled FROM clade_shares WHERE id = ANY($1::text[]) AND clade_id = $2 ORDER BY id',
      [[...origins], agent.cladeId],
    )
    if (known.some(({ recalled }) => recalled))
      throw new Problem('conflict', 'It was made from what a sibling has recalled. Nothing was sent.')
    return known.map(({ id }) => id)
  }

  /** Names that an analyzer finds in the current entry, after the rules have stripped it. */
  async function lookedAt(agent: CladeAgent, asked: ShareOrder, now: Date) {
    const names = agent.ownerId === null ? [] : await namesOf(undefined, agent.ownerId)
    const entry = await entryOf(db.prisma, agent.id, asked, now)
    return { entry, names, ...(await recognised(recognise, strippedOf(entry, { names }).payload)) }
  }

  /** Skips the analyzer when sharing is not allowed. The transaction returns the error, or the stored response of a repetition. */
  async function lookedAtFirst(
    { actor, now }: Pick<Context, 'actor' | 'now'>,
    { params: { id }, body }: Input<typeof addShare>,
  ) {
    const agent = await agents.own(actor, id)
    if (recognise === undefined || agent.sharingSince === null) return undefined
    try {
      return await lookedAt(agent, body, now)
    } catch (error) {
      if (Problem.is(error)) return undefined
      throw error
    }
  }

  const digestOf = (digest: Uint8Array) => Buffer.from(digest).toString('base64url')

  return {
    readClade: read(readClade, async ({ actor, now }, { params: { id } }) => {
      const agent = await agents.own(actor, id)
      const [siblings, unfetched, [waiting]] = await Promise.all([
        members.siblingsOf(db.prisma, { ...agent, agentId: id }),
        db.query<{ agent_id: string; n: number }>(
          'clade-unfetched',
          `SELECT d.agent_id, count(*)::int AS n FROM clade_deltas d JOIN clade_shares s ON s.id = d.share_id
           WHERE s.agent_id = $1 AND d.state = 'pending' AND d.delivered_at IS NULL GROUP BY d.agent_id`,
          [id],
        ),
        db.query<{ n: number }>(
          'clade-waiting',
          "SELECT count(*)::int AS n FROM clade_deltas WHERE agent_id = $1 AND (state = 'recalling' OR (state = 'pending' AND expires_at > $2))",
          [id, now],
        ),
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
    }),

    setSharing: mutation(setSharing, async ({ tx, actor, now }, { params: { id }, body: { on } }) => {
      const agent = await (on ? agents.writable : agents.locked)(tx, actor, id)
      if (on && agent.cladeId === null)
        throw new Problem(
          'conflict',
          'This agent has no siblings: an agent gets them when it is made with this one as its `ancestor`. Nothing was changed.',
        )
      const since = on ? (agent.sharingSince ?? now) : null
      await members.setSharing(tx, id, since)
      if (!on && agent.cladeId !== null) await lockClade(tx, [agent.cladeId])
      const withdrawn = on
        ? []
        : await queryWithin(
            tx,
            'clade-sharing-off',
            `DELETE FROM clade_deltas d USING clade_shares s WHERE s.id = d.share_id AND s.agent_id = $1
               AND d.state = 'pending' AND d.delivered_at IS NULL RETURNING 1`,
            [id],
          )
      return {
        resourceId: id,
        details: { fields: ['sharing_since'], changed: (since === null) !== (agent.sharingSince === null) },
        body: { data: { agent_id: id, sharing_since: since?.toISOString() ?? null, withdrawn: withdrawn.length } },
      }
    }),

    previewShare: read(previewShare, async ({ actor, now }, { params: { id }, body }) => {
      const agent = await agents.own(actor, id)
      const { entry, isDegraded, ...known } = await lookedAt(agent, body, now)
      const { payload, removed, kind } = strippedOf(entry, known, before(body))
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
    }),

    addShare: preparedMutation(addShare, lookedAtFirst, async ({ tx, actor, now }, { params, body }, looked) => {
      const { id: agentId } = params
      const agent = await agents.writable(tx, actor, agentId)
      const { cladeId, ownerId, sharingSince } = agent
      if (sharingSince === null || cladeId === null || ownerId === null)
        throw new Problem(
          'wrong_state',
          'Sharing is off for this agent. Nothing was sent: switch it on with PUT /v1/agents/{id}/clade/sharing.',
        )
      const entry = await entryOf(tx, agentId, body, now)
      const { found = [], isDegraded = false } = looked ?? {}
      const { payload, removed, kind } = strippedOf(entry, { names: await namesOf(tx, ownerId), found }, before(body))
      const gate = decideGate(kind, payload.confidence)
      if (!gate.passes)
        throw invalid(['confidence'], `is ${payload.confidence}, and this kind is shared from ${gate.needed} on`)
      const { text, digest } = packed(payload)
      if (recognise !== undefined && (!looked || canonicalText(looked.entry) !== canonicalText(entry)))
        throw new Problem('conflict', 'It changed while it was looked at. Nothing was sent: look again.')
      if (body.digest !== undefined && body.digest !== digestOf(digest))
        throw new Problem(
          'conflict',
          'It would send something else than the preview showed. Nothing was sent: look again.',
        )
      await lockClade(tx, [cladeId])
      const siblings = await members.siblingsOf(tx, { cladeId, ownerId, agentId })
      const to = body.siblings ? [...new Set(body.siblings)].sort() : siblings.map(({ id }) => id)
      if (!to.every((one) => siblings.some(({ id }) => id === one)))
        throw new Problem('not_found', 'One of them is no living sibling of this agent. Nothing was sent to any.')
      if (to.length === 0) throw new Problem('conflict', 'This agent has no living sibling. Nothing was sent.')
      if ((await tx.cladeShare.count({ where: { agentId, recalledAt: null } })) >= mostShares)
        throw new Problem(
          'conflict',
          `${mostShares.toLocaleString('en')} shares of this agent stand, which is the most. Nothing was sent: recall some first.`,
        )
      const parents = await originsOf(
        tx,
        agent,
        { parents: payload.parents, own: body.entry_id, told: body.origins },
        now,
      )
      const shareId = newId('shr')
      const told = { version: 1, issuer, share_id: shareId, clade_id: cladeId, agent_id: agentId, kind }
      const claims = { ...told, removed, digest: digestOf(digest), shared_at: now.toISOString() }
      const manifest = await sign(tx, 'clade-manifest', canonicalText(claims))
      await tx.cladeShare.create({
        data: {
          id: shareId,
          cladeId,
          agentId,
          // An entry without its own id is identified by the share id.
          entryId: body.entry_id ?? shareId,
          kind,
          sealed: new Uint8Array(sealPayload(key(), shareId, text)),
          digest: new Uint8Array(digest),
          manifest,
          parents,
          sharedAt: now,
        },
      })
      await tx.cladeDelta.createMany({
        data: to.map((sibling) => ({
          shareId,
          agentId: sibling,
          createdAt: now,
          expiresAt: new Date(now.getTime() + pendingFor),
        })),
      })
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
            shared_at: now.toISOString(),
            ...(isDegraded && degraded),
          },
        },
      }
    }),
  }
}
