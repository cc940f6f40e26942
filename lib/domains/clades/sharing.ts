import { z } from 'zod'
import { DepthError } from '#lib/domains/sanitizer/fields.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'
import { addShare, type EntryBody, previewShare, readClade, setSharing } from './contract.ts'
import { canonicalText, packed, sealPayload } from './payload.ts'
import type { CladeAgent, CladePorts, OwnEntry } from './ports.ts'
import { lockClade } from './recalling.ts'
import { isShared, judgeGate, mostGenerations, mostShares, pendingFor, type SharedKind, shareIdForm } from './rules.ts'
import { strippedKinds } from './strip-kinds.ts'
import { type Shareable, type Stripped, strip } from './strip-rules.ts'

interface Asked {
  entry_id?: string | undefined
  entry?: EntryBody | undefined
  removed?: Stripped['removed'] | undefined
}
interface Sibling {
  id: string
  name: string | null
  status: 'active' | 'paused'
}
// One that is being erased gets nothing any more, and keeps nobody from sharing with the others.
const siblingsSql = `SELECT b.id, b.name, b.status::text AS status FROM agents b
  WHERE b.clade_id = $1 AND b.owner_id = $2 AND b.id <> $3 AND b.status <> 'dead'
    AND NOT EXISTS (SELECT 1 FROM fenced f WHERE f.kind = 'agent' AND f.id = b.id) ORDER BY b.id LIMIT 1000`

const AnyJson = z.json()
const sent = (body: EntryBody): Shareable => ({
  ...body,
  provenance: body.provenance ?? null,
  valid_from: body.valid_from?.toISOString() ?? null,
  valid_until: body.valid_until?.toISOString() ?? null,
})
const stored = (entry: OwnEntry): Shareable => ({
  kind: entry.kind,
  content: AnyJson.parse(entry.content),
  confidence: entry.confidence ?? 0,
  tags: entry.tags,
  provenance: AnyJson.parse(entry.provenance ?? null),
  parents: entry.parents,
  valid_from: entry.valid_from,
  valid_until: entry.valid_until,
})

/** What the owner's client took out of an entry that is private here. */
const before = ({ entry, removed }: Asked): Stripped['removed'] => (entry ? (removed ?? {}) : {})
const sumOf = (one: Stripped['removed'], other: Stripped['removed']): Stripped['removed'] =>
  Object.fromEntries(
    strippedKinds.flatMap((kind) => {
      const count = (one[kind] ?? 0) + (other[kind] ?? 0)
      return count > 0 ? [[kind, count]] : []
    }),
  )

/** Sharing with siblings: the switch, what a share would be, and the share. */
export function cladeSharing({ db, key, agents, entriesOf, namesOf, sign, issuer }: CladePorts) {
  async function entryOf(
    tx: Pick<Transaction, 'grimoireEntry'>,
    agentId: string,
    asked: Asked,
    now: Date,
  ): Promise<Shareable> {
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
    entry: Shareable,
    names: readonly string[],
    before: Stripped['removed'] = {},
  ): Stripped & { kind: SharedKind } {
    const { kind } = entry
    if (!isShared(kind)) throw invalid(['kind'], 'an episode is never shared')
    try {
      const { payload, removed } = strip(entry, { names })
      return { payload, removed: sumOf(before, removed), kind }
    } catch (error) {
      if (DepthError.is(error)) throw invalid(['entry', 'content'], 'is nested deeper than 100 objects and arrays')
      throw error
    }
  }

  /** Shares of siblings that it was made from, through entries of the agent's own as well. Throws `conflict` where one was recalled. */
  async function originsOf(
    tx: Transaction,
    agent: CladeAgent,
    parents: readonly string[],
    now: Date,
  ): Promise<string[]> {
    const origins = new Set<string>()
    const seen = new Set<string>()
    let next = [...parents]
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
      next = [...entries.values()].flatMap((entry) => (entry === 'private' ? [] : entry.parents))
    }
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

  const digestOf = (digest: Uint8Array) => Buffer.from(digest).toString('base64url')

  return {
    readClade: read(readClade, async ({ actor }, { params: { id } }) => {
      const agent = await agents.own(actor, id)
      const [siblings, unfetched, [waiting]] = await Promise.all([
        db.query<Sibling & Record<string, unknown>>('clade-siblings', siblingsSql, [agent.cladeId, agent.ownerId, id]),
        db.query<{ agent_id: string; n: number }>(
          'clade-unfetched',
          `SELECT d.agent_id, count(*)::int AS n FROM clade_deltas d JOIN clade_shares s ON s.id = d.share_id
           WHERE s.agent_id = $1 AND d.state = 'pending' GROUP BY d.agent_id`,
          [id],
        ),
        db.query<{ n: number }>(
          'clade-waiting',
          "SELECT count(*)::int AS n FROM clade_deltas WHERE agent_id = $1 AND state IN ('pending', 'recalling')",
          [id],
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
      await tx.agent.update({ where: { id }, data: { sharingSince: since } })
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
      const names = agent.ownerId === null ? [] : await namesOf(undefined, agent.ownerId)
      const { payload, removed, kind } = strippedOf(await entryOf(db.prisma, id, body, now), names, before(body))
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
            gate: { ...judgeGate(kind, confidence), confidence },
          },
        },
      }
    }),

    addShare: mutation(addShare, async ({ tx, actor, now }, { params: { id: agentId }, body }) => {
      const agent = await agents.writable(tx, actor, agentId)
      const { cladeId, ownerId, sharingSince } = agent
      if (sharingSince === null || cladeId === null || ownerId === null)
        throw new Problem(
          'wrong_state',
          'Sharing is off for this agent. Nothing was sent: switch it on with PUT /v1/agents/{id}/clade/sharing.',
        )
      const entry = await entryOf(tx, agentId, body, now)
      const { payload, removed, kind } = strippedOf(entry, await namesOf(tx, ownerId), before(body))
      const gate = judgeGate(kind, payload.confidence)
      if (!gate.passes)
        throw invalid(['confidence'], `is ${payload.confidence}, and this kind is shared from ${gate.needed} on`)
      const { text, digest } = packed(payload)
      if (body.digest !== undefined && body.digest !== digestOf(digest))
        throw new Problem(
          'conflict',
          'It would send something else than the preview showed. Nothing was sent: look again.',
        )
      await lockClade(tx, [cladeId])
      const siblings = await queryWithin<{ id: string }>(tx, 'clade-siblings-of', siblingsSql, [
        cladeId,
        ownerId,
        agentId,
      ])
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
        [...payload.parents, ...(body.entry_id === undefined ? [] : [body.entry_id])],
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
          // One that came without an id of its own is known by the share's.
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
          },
        },
      }
    }),
  }
}
