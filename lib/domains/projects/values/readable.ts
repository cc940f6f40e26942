import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib'
import type { Transaction } from '#lib/kernel/context.ts'
import { isDistinctiveText, isGenerated } from '#lib/stores/checkpoints/search-strings.ts'
import { unpackAll } from '#lib/text/packed.ts'
import { ownersNamed } from '../repository.ts'

/**
 * The searchable text of a stored value. `text`: the complete value, which can be cut. `packed`: text from a compressed or encoded value.
 * `binary`: only the readable parts; the rest (encrypted, compressed otherwise, an image) is not searched.
 */
export interface Readable {
  form: 'text' | 'packed' | 'binary'
  text: string
}

type Unpack = Parameters<typeof unpackAll>[1]
const begins =
  (...magic: number[]) =>
  (bytes: Buffer): boolean =>
    magic.every((byte, at) => bytes[at] === byte)

/** RFC 1950: the method DEFLATE, a window of up to 32 KiB, and a check over both bytes. The second byte also has the level. */
const isZlib = ([method = 0, flags = 0]: Buffer): boolean =>
  (method & 15) === 8 && method >> 4 <= 7 && (method * 256 + flags) % 31 === 0

const compressions: [isIt: (bytes: Buffer) => boolean, unpack: Unpack][] = [
  [begins(0x1f, 0x8b), gunzipSync],
  [begins(0x28, 0xb5, 0x2f, 0xfd), zstdDecompressSync],
  [isZlib, inflateSync],
]

function unpacked(bytes: Buffer): Buffer | undefined {
  for (const [isIt, unpack] of compressions)
    if (isIt(bytes))
      try {
        return unpackAll(bytes, unpack)
      } catch {
        return undefined // damaged, larger than the bound, with other data after it, or a text that begins like this
      }
  return undefined
}

const utf16 = (bytes: Buffer): string | undefined => {
  const [first, second] = bytes
  if (first === 0xff && second === 0xfe) return new TextDecoder('utf-16le').decode(bytes)
  return first === 0xfe && second === 0xff ? new TextDecoder('utf-16be').decode(bytes) : undefined
}
/** One long word of Base64 or hexadecimal characters: encoded or encrypted. */
const encoded = /^[A-Za-z0-9+/_-]{64,}={0,2}\s*$/

export function readable(bytes: Buffer, depth = 0): Readable {
  if (depth < 3) {
    const inner = unpacked(bytes)
    if (inner !== undefined) return packed(readable(inner, depth + 1))
  }
  const wide = utf16(bytes)
  if (wide !== undefined) return { form: 'packed', text: wide }
  const text = bytes.toString()
  if (!isUtf8(bytes) || text.includes('\u0000')) return { form: 'binary', text }
  if (depth < 3 && encoded.test(text)) {
    const inner = readable(Buffer.from(text, 'base64'), depth + 1)
    return inner.form === 'binary' ? { form: 'binary', text } : packed(inner)
  }
  return { form: 'text', text }
}
const packed = ({ form, text }: Readable): Readable => ({ form: form === 'binary' ? 'binary' : 'packed', text })

/**
 * Whose data a key, object or other place of a connected store is, by the ids in its name. Words never decide it: an equal sentence proves
 * nothing.
 * - `own`: it names the erasing projects or the erased person, and nobody else.
 * - `elsewhere`: it names only other projects and what belongs to them.
 * - `foreign`: it names another author, or another project besides an erasing one.
 * - `nobody`: it names no project and no person.
 */
export type Ownership = 'own' | 'elsewhere' | 'foreign' | 'nobody'
/** Whether a place names somebody else, of whichever project. */
export const isOfOthers = (ownership: Ownership): boolean => ownership === 'foreign' || ownership === 'elsewhere'

const word = /[A-Za-z0-9_-]+/g
const maxParts = 12
const maxIds = 200

/** Generated ids in a text. */
export const generatedIn = (text: string): string[] => (text.match(word) ?? []).filter(isGenerated)

/** All possible names in a key or namespace: its parts, and all sequences of adjacent parts. */
export function namesIn(text: string): string[] {
  const starts = [0, ...[...text.matchAll(/[.:\s/|#]/g)].map(({ index }) => index + 1)].slice(0, maxParts)
  const ends = [...starts.slice(1).map((start) => start - 1), text.length]
  return starts.flatMap((start) => ends.flatMap((end) => (end > start ? [text.slice(start, end)] : [])))
}

interface OwnershipOptions {
  within: <T>(work: (tx: Transaction) => Promise<T>) => Promise<T>
  /** The erasing projects. */
  projects: ReadonlySet<string>
  /** Ids of the erased messages, documents and conversations, and of the erased person. */
  erased: ReadonlySet<string>
  /** Whether a person is erased, not a part of a project. Then another person's id names another author. */
  isPerson: boolean
  /** Hashes of external ids of the erased person, whose rows may no longer exist. */
  aliases?: ReadonlySet<string>
}
/** Hash of an external id, because it may be personal data. */
export const aliasOf = (externalId: string): string =>
  createHash('sha256').update(externalId).digest('base64url').slice(0, 22)

/** What the name of a place names: a project, a person, or what belongs to them. */
export interface NamedOwner {
  kind: 'place' | 'source' | 'participant' | 'account'
  /** Whether its generated id is in the name. Anybody can choose another one, such as an external id. */
  isById: boolean
  /** Whether it belongs to the erasing projects, or to the erased person. */
  isOwn: boolean
  /** Whether it belongs to another project. */
  isElsewhere: boolean
  organisation: string | null
  externalId: string | null
}
export interface OwnershipReader {
  /** Whose a place is, by all ids in its name. Decides about words. */
  (name: string): Promise<Ownership>
  isPerson: boolean
  /** Everything that a name names. Decides about erased ids. */
  ownersIn(name: string): Promise<NamedOwner[]>
  /** Whether a name has a generated id of an erasing project or of what is erased, even if its row no longer exists. */
  hasOwnId(name: string): boolean
}
const kinds: Record<string, NamedOwner['kind']> = {
  message: 'source',
  document: 'source',
  participant: 'participant',
  account: 'account',
}

/** Reads the ownership of places by their names. */
export function ownershipReader({ within, projects, erased, isPerson, aliases }: OwnershipOptions): OwnershipReader {
  async function readOwners(name: string): Promise<NamedOwner[]> {
    const names = namesIn(name)
    const generated = generatedIn(name)
    const ids = [...new Set([...generated, ...names.filter(isDistinctiveText)])].slice(0, maxIds)
    const rows = await within((tx) => ownersNamed(tx, { ids, names: [...new Set(names)].slice(0, maxIds) }))
    const isErased = aliases !== undefined && aliases.size > 0 && names.some((one) => aliases.has(aliasOf(one)))
    const person = {
      kind: 'participant' as const,
      isById: false,
      isElsewhere: false,
      organisation: null,
      externalId: null,
    }
    const recorded: NamedOwner[] = isErased ? [{ ...person, isOwn: true }] : []
    const named = rows.map(({ kind, id, project, author, organisation, external_id }) => ({
      kind: kinds[kind] ?? 'place',
      isById: generated.includes(id),
      isOwn:
        erased.has(id) || (author !== null && erased.has(author)) || (author === null && projects.has(project ?? '')),
      isElsewhere: project !== null && !projects.has(project),
      organisation,
      externalId: external_id,
    }))
    return [...named, ...recorded]
  }
  /** Words and ids are decided about one place after another, and both ask whose it is: one query answers them. */
  let latest: { name: string; owners: Promise<NamedOwner[]> } | undefined
  function ownersIn(name: string): Promise<NamedOwner[]> {
    if (latest?.name === name) return latest.owners
    const asked = { name, owners: readOwners(name) }
    latest = asked
    asked.owners.catch(() => {
      if (latest === asked) latest = undefined
    })
    return asked.owners
  }
  async function ownershipOf(name: string): Promise<Ownership> {
    const owners = await ownersIn(name)
    const isOwn = owners.some((one) => one.isOwn)
    const isForeign = owners.some((one) => {
      if (one.isOwn) return false
      // One application uses the same external id for a person in all its projects.
      if (one.kind === 'participant') return !isOwn && (one.isElsewhere || isPerson)
      return one.kind === 'account' ? isPerson : one.isElsewhere || one.kind === 'source'
    })
    if (isForeign) return owners.every(({ isElsewhere }) => isElsewhere) && !isOwn ? 'elsewhere' : 'foreign'
    return isOwn ? 'own' : 'nobody'
  }
  const hasOwnId = (name: string) => generatedIn(name).some((id) => erased.has(id) || projects.has(id))
  return Object.assign(ownershipOf, { isPerson, ownersIn, hasOwnId })
}

/** Whether a name of a place names somebody else than these projects, for an erasure whose rows no longer exist. */
export const isNamedByOthers = async (name: string, projects: readonly string[], tx: Transaction): Promise<boolean> =>
  isOfOthers(
    await ownershipReader({
      within: (work) => work(tx),
      projects: new Set(projects),
      erased: new Set(),
      isPerson: true,
    })(name),
  )
