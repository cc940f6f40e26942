import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import { z } from 'zod'
import { seal, unseal } from '#lib/config/secret.ts'
import { cladeMembers } from '#lib/domains/agents/queries.ts'
import { type Recognise, withNames } from '#lib/domains/pii/analyzer.ts'
import { finding } from '#lib/domains/pii/findings.ts'
import { DepthError } from '#lib/domains/sanitizer/sanitizer.ts'
import type { Context, MutationContext, Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import type { Input } from '#lib/kernel/operation.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { mutation, preparedMutation, read } from '#lib/kernel/use-case.ts'
import { addShare, CladePayload, type EntryBody, previewShare, readClade, setSharing } from './contract.ts'
import type { CladeAgent, CladePorts, OwnEntry } from './ports.ts'
import { countUnfetched, countWaiting, lockClades, sharesOfClade, withdrawUnfetched } from './repository.ts'
import {
  cladeEntryBytes,
  decideGate,
  isShared,
  maxGenerations,
  maxShares,
  pendingFor,
  type SharedKind,
  shareIdForm,
} from './rules.ts'
import {
  type AnalyzerMatch,
  type JsonTree,
  type ShareableEntry,
  type StrippedEntry,
  stripEntry,
  strippedKinds,
  wordBoundaries,
} from './strip-rules.ts'

const degraded = { degraded: ['presidio' as const] }
const digestOf = (digest: Uint8Array) => Buffer.from(digest).toString('base64url')

/** What to share: a stored entry, or the content of a private entry that the owner's client opened and stripped. */
interface ShareOrder {
  entry_id?: string | undefined
  entry?: EntryBody | undefined
  removed?: StrippedEntry['removed'] | undefined
  origins?: string[] | undefined
}
/** Names to remove: those that the installation knows, and those that an analyzer found. */
interface NamesToStrip {
  names: readonly string[]
  found?: readonly AnalyzerMatch[]
}

const AnyJson = z.json()
const ofClient = (body: EntryBody): ShareableEntry => ({
  ...body,
  provenance: body.provenance ?? null,
  valid_from: body.valid_from?.toISOString() ?? null,
  valid_until: body.valid_until?.toISOString() ?? null,
})
const ofGrimoire = (entry: OwnEntry): ShareableEntry => ({
  ...entry,
  content: AnyJson.parse(entry.content),
  confidence: entry.confidence ?? 0,
  provenance: AnyJson.parse(entry.provenance ?? null),
})

/**
 * The entry that an order names.
 * @throws Problem `invalid`, `not_found`, or `conflict` for a private entry without content
 */
async function entryToShare(
  entriesOf: CladePorts['entriesOf'],
  tx: Transaction,
  agentId: string,
  { entry_id: id, entry: content }: ShareOrder,
  now: Date,
): Promise<ShareableEntry> {
  if (id === undefined) {
    if (content) return ofClient(content)
    throw invalid(['entry_id'], 'is required without `entry`')
  }
  const entry = (await entriesOf(tx, agentId, [id], now)).get(id)
  if (!entry) throw new Problem('not_found', 'This agent has no entry with this id, or the entry has expired.')
  if (content) return ofClient(content)
  if (entry === 'private')
    throw new Problem(
      'conflict',
      'The server cannot read this private entry. Nothing was sent. Share it in the console or with `kp clade share`, which strip and send it.',
    )
  return ofGrimoire(entry)
}

/**
 * The entry without private data, and what was removed here and by the owner's client.
 * @throws Problem `invalid` for a kind that is never shared, or too deep content
 */
function strippedEntry(
  entry: ShareableEntry,
  known: NamesToStrip,
  order: ShareOrder = {},
): StrippedEntry & { kind: SharedKind } {
  const { kind } = entry
  if (!isShared(kind)) throw invalid(['kind'], 'must not be "episode": episodes are never shared')
  const removedBefore = order.entry ? (order.removed ?? {}) : {}
  try {
    const { payload, removed } = stripEntry(entry, known)
    const counts = strippedKinds.map((one) => [one, (removedBefore[one] ?? 0) + (removed[one] ?? 0)] as const)
    return { payload, removed: Object.fromEntries(counts.filter(([, count]) => count > 0)), kind }
  } catch (error) {
    if (DepthError.is(error)) throw invalid(['entry', 'content'], 'must not nest more than 100 objects and arrays')
    throw error
  }
}

/** The entry, and the names that an analyzer finds in it after the rules have stripped it. */
async function analyzedEntry(
  { db, entriesOf, namesOf, recognise }: Pick<CladePorts, 'db' | 'entriesOf' | 'namesOf' | 'recognise'>,
  agent: CladeAgent,
  order: ShareOrder,
  now: Date,
) {
  const names = agent.ownerId === null ? [] : await namesOf(undefined, agent.ownerId)
  const entry = await entryToShare(entriesOf, db.prisma, agent.id, order, now)
  return { entry, names, ...(await recognised(recognise, strippedEntry(entry, { names }).payload)) }
}

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

/** Canonical JSON (RFC 8785): equal values give equal texts. */
function canonicalText(value: object): string {
  const text = canonicalize(value)
  if (text === undefined) throw new TypeError('an object has a canonical form')
  return text
}

/** A payload as it is stored and signed. @throws Problem `too_large` */
function packed(payload: ShareableEntry): { text: string; digest: Buffer } {
  const text = canonicalText(payload)
  if (Buffer.byteLength(text) > cladeEntryBytes)
    throw new Problem(
      'too_large',
      'The share is larger than 64 KiB as JSON, which is the limit. Nothing was sent. Split the entry into two entries.',
    )
  return { text, digest: createHash('sha256').update(text).digest() }
}
const sealPayload = (key: Uint8Array, shareId: string, text: string): Buffer => seal(key, Buffer.from(text), shareId)
export const openPayload = (key: Uint8Array, shareId: string, sealed: Uint8Array) =>
  CladePayload.parse(JSON.parse(unseal(key, sealed, shareId).toString('utf8')))

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
  { tx }: MutationContext,
  { id: agentId, cladeId, ownerId }: SharingAgent,
  named: readonly string[] | undefined,
): Promise<string[]> {
  await lockClades(tx, { ids: [cladeId] })
  const siblings = await cladeMembers.siblingsOf(tx, { cladeId, ownerId, agentId })
  const to = named ? [...new Set(named)].sort() : siblings.map(({ id }) => id)
  if (!to.every((one) => siblings.some(({ id }) => id === one)))
    throw new Problem(
      'not_found',
      'One of these agents is not an active or paused sibling of this agent. Nothing was sent.',
    )
  if (to.length === 0)
    throw new Problem('conflict', 'This agent has no sibling that is active or paused. Nothing was sent.')
  if ((await tx.cladeShare.count({ where: { agentId, recalledAt: null } })) >= maxShares)
    throw new Problem(
      'conflict',
      `This agent has ${maxShares.toLocaleString('en')} active shares, which is the limit. Nothing was sent. Recall some shares first.`,
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
    version: 1,
    issuer,
    share_id: id,
    clade_id: cladeId,
    agent_id: agentId,
    kind,
    removed,
    digest: digestOf(digest),
    shared_at: now.toISOString(),
  }
  const manifest = await sign(tx, 'clade-manifest', canonicalText(claims))
  await tx.cladeShare.create({
    data: {
      id,
      cladeId,
      agentId,
      kind,
      manifest,
      parents,
      sharedAt: now,
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

const overview = ({ db, agents }: Pick<CladePorts, 'db' | 'agents'>) =>
  read(readClade, async ({ actor, now }, { params: { id } }) => {
    const agent = await agents.own(actor, id)
    const [siblings, unfetched, [waiting]] = await Promise.all([
      cladeMembers.siblingsOf(db.prisma, { ...agent, agentId: id }),
      countUnfetched(db, { agent: id }),
      countWaiting(db, { agent: id, now }),
    ])
    return {
      resourceId: id,
      body: {
        data: {
          agent_id: id,
          clade_id: agent.cladeId,
          sharing_since: agent.sharingSince,
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

const setSwitch = ({ agents }: Pick<CladePorts, 'agents'>) =>
  mutation(setSharing, async ({ tx, actor, now }, { params: { id }, body: { on } }) => {
    const agent = await (on ? agents.writable : agents.locked)(tx, actor, id)
    if (on && agent.cladeId === null)
      throw new Problem(
        'conflict',
        'This agent has no siblings. Nothing was changed. To give it a sibling, create an agent with this agent as its `ancestor`.',
      )
    const since = on ? (agent.sharingSince ?? now) : null
    await cladeMembers.setSharing(tx, id, since)
    if (!on && agent.cladeId !== null) await lockClades(tx, { ids: [agent.cladeId] })
    const withdrawn = on ? 0 : await withdrawUnfetched(tx, { agent: id })
    return {
      resourceId: id,
      details: { fields: ['sharing_since'], on, changed: (since === null) !== (agent.sharingSince === null) },
      body: { data: { agent_id: id, sharing_since: since, withdrawn } },
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

/** The ancestry of an entry: its parents, its own id, and the origins that a client found through private entries. */
interface Ancestry {
  parents: readonly string[]
  own: string | undefined
  origins: readonly string[] | undefined
}

/**
 * Shares of siblings that the entry derives from, through the agent's own entries.
 * @throws Problem `conflict` when an origin was recalled or a part of the ancestry cannot be read
 */
async function originsOf(
  entriesOf: CladePorts['entriesOf'],
  tx: Transaction,
  agent: CladeAgent,
  { parents, own, origins: declared }: Ancestry,
  now: Date,
): Promise<string[]> {
  const origins = new Set<string>(declared)
  const seen = new Set<string>()
  let next = [...parents, ...(own === undefined ? [] : [own])]
  for (let generation = 0; next.length > 0 && generation < maxGenerations; generation++) {
    const fresh = next.filter((id) => !seen.has(id))
    for (const id of fresh) {
      seen.add(id)
      if (shareIdForm.test(id)) origins.add(id)
    }
    const ids = fresh.filter((id) => id.startsWith('ent_'))
    const entries = await entriesOf(tx, agent.id, ids, now)
    // The client has opened the entry that it shares, so only its private parents are a problem.
    if (declared === undefined && [...entries].some(([id, entry]) => entry === 'private' && id !== own))
      throw new Problem(
        'conflict',
        'The entry derives from a private entry, whose origins the server cannot read. Nothing was sent. Use `kp clade share`, which finds the origins and sends them as `origins`.',
      )
    next = [...entries.values()].flatMap((entry) => (entry === 'private' ? [] : entry.parents))
  }
  if (next.some((id) => !seen.has(id)))
    throw new Problem(
      'conflict',
      `The entry derives from more than ${maxGenerations} generations of entries, so a recall could not reach it. Nothing was sent.`,
    )
  if (origins.size === 0) return []
  const shares = await sharesOfClade(tx, { ids: [...origins], clade: agent.cladeId })
  if (shares.some(({ recalled }) => recalled))
    throw new Problem('conflict', 'The entry derives from a share that a sibling recalled. Nothing was sent.')
  return shares.map(({ id }) => id)
}

const share = (ports: CladePorts) =>
  preparedMutation(
    addShare,
    (ctx, input) => analyzedFirst(ports, ctx, input),
    async (ctx, { params: { id: agentId }, body }, analyzed) => {
      const agent = await sharingAgent(ports, ctx, agentId)
      const { parents, ...payload } = await payloadToShare(ports, ctx, agent, body, analyzed)
      const { kind, removed, digest } = payload
      const to = await recipients(ctx, agent, body.siblings)
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
            shared_at: ctx.now,
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

/** Every text of a JSON value, including keys. */
function textsOf(value: JsonTree): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  if (Array.isArray(value)) return value.flatMap(textsOf)
  return Object.entries(value).flatMap(([name, child]) => [name, ...textsOf(child)])
}

/** The names of kinds in redaction marks carry no information: they are masked before the analyzer reads them. */
const covered = 'private_key'
const markForm = /‹[a-z_]{2,20}:\d{1,6}›/g
const marksOf = (text: string) =>
  [...text.matchAll(markForm)].map(({ 0: mark, index }) => finding(covered, index, index + mark.length, 1))

/** Extends a span to the boundaries of its first and last word. */
function wholeWords(text: string, start: number, end: number): string {
  const joins = (at: number) => wordBoundaries.test(text.charAt(at - 1)) && wordBoundaries.test(text.charAt(at))
  let [from, until] = [start, end]
  while (joins(from)) from -= 1
  while (joins(until)) until += 1
  return text.slice(from, until)
}

/**
 * People and places that the analyzer finds in an already stripped entry, so that the analyzer receives nothing that
 * the rules remove. `isDegraded`: it did not answer for every text. Without an analyzer the result is empty and not
 * degraded.
 */
async function recognised(
  recognise: Recognise | undefined,
  { content, provenance, tags, parents }: ShareableEntry,
): Promise<{ found: AnalyzerMatch[]; isDegraded: boolean }> {
  if (recognise === undefined) return { found: [], isDegraded: false }
  const texts = [...new Set(textsOf([content, provenance, [...tags], [...parents]]))]
  const { findings, missing } = await withNames(recognise, texts, texts.map(marksOf))
  return {
    found: texts.flatMap((text, index) =>
      (findings[index] ?? []).flatMap(({ kind, start, end }) =>
        kind === covered ? [] : [{ kind, text: wholeWords(text, start, end) }],
      ),
    ),
    isDegraded: missing.size > 0,
  }
}
