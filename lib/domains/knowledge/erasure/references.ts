import { withdrawAnswers } from '#lib/domains/idempotency/writes.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import type { Subject } from '#lib/kernel/erasure-scope.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { preparedMutation, read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { chunked, holdingOf, plannedOf, preferIndexes, sumRemaining } from '#lib/stores/postgres/personal-tables.ts'
import { erasedSubjectOf } from '../personal-data.ts'
import { searchVector, weightedTextsOf } from '../search/words.ts'
import { parseSkillMd, withAuthor } from '../skills/front-matter.ts'
import { skillTexts } from '../skills/preparation.ts'
import { decideReferences, listUndecidedReferences } from './contract.ts'
import {
  countReferencesInDocuments,
  countReferringRecords,
  lockSkillsToRename,
  lockUnitsToRename,
  recordsNaming,
  referencesHolding,
  referringRecords,
  rejectUnderLegalHold,
  renameInSearch,
  renameInSkill,
  renameInUnits,
  renameInVersions,
  restoreNovelty,
  versionsToRename,
} from './repository.ts'
import { type Bearers, bearersOf } from './rules.ts'
import { type AuthorPseudonym, renamed } from './suppression.ts'

/** Name of this data source in the ledger. */
const referencesSource = 'knowledge.references'

/** Returns the replacement of a name, or the name itself. */
type Renaming = (name: string) => string
interface Renamings {
  bearers: Bearers
  /** Renames names written by authors; `meant` are those whose bearer the record means. */
  written(meant: readonly string[]): Renaming
  /** Renames names recorded by the registry: authors and approvers of versions. */
  recorded: Renaming
}

/** Renames in documents, columns and former versions of units. Score, votes and novelty stay. */
async function renameUnits(
  tx: Transaction,
  ids: readonly string[],
  { bearers, written, recorded }: Renamings,
): Promise<number> {
  if (ids.length === 0) return 0
  const values = { ...bearers, records: ids }
  const units = await lockUnitsToRename(tx, values)
  const versions = (await versionsToRename(tx, values)).flatMap((before) => {
    const after = {
      ...before,
      document: renamed(before.document, written(before.meant)),
      created_by: recorded(before.created_by),
      approved_by: before.approved_by === null ? null : recorded(before.approved_by),
    }
    const isSame =
      after.document === before.document &&
      after.created_by === before.created_by &&
      after.approved_by === before.approved_by
    return isSame ? [] : [after]
  })
  const ofVersion = new Set(versions.map(({ unit_id }) => unit_id))
  const changed = units.flatMap((before) => {
    const to = written(before.meant)
    const document = renamed(before.document, to)
    const attributed_to = before.attributed_to === null ? null : to(before.attributed_to)
    const original_author = before.original_author === null ? null : to(before.original_author)
    const isSame =
      document === before.document &&
      attributed_to === before.attributed_to &&
      original_author === before.original_author &&
      !ofVersion.has(before.id)
    return isSame ? [] : [{ before, id: before.id, document, attributed_to, original_author }]
  })
  if (changed.length === 0) return 0
  const sent = changed.map(({ before, document, ...row }) => ({
    ...row,
    document: document === before.document ? null : document,
  }))
  await renameInUnits(tx, { rows: sent })
  if (versions.length > 0) await renameInVersions(tx, { rows: versions })
  // Of the fields that may change, only an SOP's expert is searchable.
  const records = changed.filter(
    ({ before, document }) =>
      document['@type'] === 'ExpertSOP' &&
      before.document['@type'] === 'ExpertSOP' &&
      document.source.expert_id !== before.document.source.expert_id,
  )
  await renameWords(
    tx,
    records.map(({ id, document, before: { novelty } }) => ({
      id,
      novelty,
      search: searchVector(weightedTextsOf({ ...document, id })),
    })),
  )
  return changed.length
}

/** A database trigger resets the novelty of a changed text. Here only a name changes, so the novelty is restored. */
async function renameWords(tx: Transaction, rows: readonly { id: string; novelty: number | null; search: string }[]) {
  if (rows.length === 0) return
  const ids = rows.map(({ id }) => id)
  await renameInSearch(tx, { ids, vectors: rows.map(({ search }) => search) })
  await restoreNovelty(tx, { ids, novelties: rows.map(({ novelty }) => novelty) })
}

/** Renames in the front matter of skills, also in their full text; the rest of the front matter is unchanged. */
async function renameSkills(tx: Transaction, ids: readonly string[], { bearers, written }: Renamings): Promise<number> {
  if (ids.length === 0) return 0
  const skills = await lockSkillsToRename(tx, { ...bearers, records: ids })
  let n = 0
  for (const { id, meant, document, front_matter, files } of skills) {
    const { author } = front_matter
    const to = written(meant)
    if (author === null || to(author) === author) continue
    const frontMatter = { ...front_matter, author: to(author) }
    const text = withAuthor(document, frontMatter.author)
    const search = searchVector(skillTexts(frontMatter, parseSkillMd(text).body, files))
    await renameInSkill(tx, { id, document: text, frontMatter, search })
    n++
  }
  return n
}

/**
 * References to the subject in others' units, SOPs and skills: attribution, `validated_by`, authors and approvers of versions. The records
 * belong to others and remain, with their scores; a one-way pseudonym replaces the name. An item is the id of such a record. Records that
 * only contain an equal name are neither changed nor counted; an admin decides about them.
 */
export const referencesDataSource = (db: Database, pseudonymOf: AuthorPseudonym): DataSource => {
  const renaming = (subject: Subject): Renamings => {
    const { account } = subject
    const bearers = bearersOf(subject)
    // A person has one pseudonym for every form of their name in records.
    const of = (name: string) => pseudonymOf(account !== null && name === `user:${account}` ? account : name)
    const among = (names: readonly string[]) => {
      const some = new Set(names)
      return (name: string) => (some.has(name) ? of(name) : name)
    }
    return { bearers, written: among, recorded: among(bearers.names) }
  }
  return {
    name: referencesSource,
    store: 'postgresql',
    stage: 'content',
    what: 'references in units, SOPs and skills of others: replaced by a one-way pseudonym; the records remain',
    held: 'units, SOPs and skills of others that name the subject as expert, first author, validator or approver',
    purpose: 'recording the source of knowledge, and who validated it',
    kept: 'as long as the record that contains them',
    tables: [],
    inventory: async (subject, now) =>
      holdingOf(await referencesHolding(db, { ...bearersOf(subject), agents: subject.agents, now })),
    async plan(scope, tx, now) {
      const subject = erasedSubjectOf(scope)
      if (!subject) return { items: [], held: {} }
      await preferIndexes(tx)
      const values = { ...bearersOf(subject), agents: subject.agents, now }
      const units = await referringRecords(tx, values, 'unit')
      return plannedOf([...units, ...(await referringRecords(tx, values, 'skill'))])
    },
    async erase(scope, items, tx) {
      const subject = erasedSubjectOf(scope)
      if (!subject) return 0
      await preferIndexes(tx)
      const to = renaming(subject)
      const isSkill = (id: string) => id.startsWith('kp:skill:')
      const units = await renameUnits(
        tx,
        items.filter((id) => !isSkill(id)),
        to,
      )
      const skills = await renameSkills(tx, items.filter(isSkill), to)
      await withdrawAnswers(tx, ...items)
      return units + skills
    },
    /** Searches the name indexes, and the documents that should have changed. */
    async residue(scope, items, now) {
      const subject = erasedSubjectOf(scope)
      if (!subject) return 0
      const bearers = bearersOf(subject)
      const values = { ...bearers, agents: subject.agents, now }
      return sumRemaining(db, async function* (on) {
        yield countReferringRecords(on, values, 'unit')
        yield countReferringRecords(on, values, 'skill')
        for (const records of chunked(items)) yield countReferencesInDocuments(on, { ...bearers, records })
      })
    },
  }
}

interface Erased {
  account: string | null
  agents: readonly string[]
  at: Date
  until: Date | null
  items: ReadonlySet<string>
}
const isSkill = (id: string): boolean => id.startsWith('kp:skill:')
const same: Renaming = (name) => name
/** Without bearers: the decision applies to the names regardless of whom they mean. */
const nobody = { names: [], kinds: [], ids: [] }

/** Admin decisions about references that an erasure could not judge, or judged wrongly. */
export const referenceDecisions = ({
  db,
  pseudonymOf,
  erasedSubject,
  appendToLedger,
}: {
  db: Database
  pseudonymOf: AuthorPseudonym
  /** The erasure with this receipt from the ledger, and the records that the data source changed. */
  erasedSubject(receiptId: string, dataSource: string): Promise<Erased | undefined>
  /** Adds items to the erasure's ledger entry. */
  appendToLedger(receiptId: string, dataSource: string, items: readonly string[]): Promise<void>
}) => {
  const erasedBy = async (receiptId: string): Promise<Erased> => {
    const erased = await erasedSubject(receiptId, referencesSource)
    if (!erased)
      throw new Problem('not_found', 'The erasure ledger has no erasure of a person or an agent with this receipt.')
    return erased
  }
  const pseudonymsOf = ({ account, agents }: Erased): Map<string, string> =>
    new Map([
      ...agents.map((name): [string, string] => [name, pseudonymOf(name)]),
      ...(account === null
        ? []
        : [account, `user:${account}`].map((name): [string, string] => [name, pseudonymOf(account)])),
    ])

  const listed = async (names: readonly string[], before: Date | null, ids: readonly string[] | null) => {
    const rows = await recordsNaming(db, { names, before, ids })
    const data = rows.map(({ total: _, ...row }) => row)
    return { data, total: rows[0]?.total ?? 0 }
  }
  const isExpired = ({ until }: Erased, now: Date): boolean => until !== null && until < now

  return {
    undecidedReferences: read(listUndecidedReferences, async ({ now }, { params: { id } }) => {
      const erased = await erasedBy(id)
      const { data, total } = await listed(bearersOf(erased).names, erased.at, null)
      const renamed = isExpired(erased, now) ? [] : [...erased.items]
      const restorable = await listed(erased.agents.map(pseudonymOf), null, renamed)
      return {
        resourceId: id,
        details: { count: data.length },
        body: { data, total, restorable: { ...restorable, until: erased.until } },
      }
    }),

    decideReferences: preparedMutation(
      decideReferences,
      (_ctx, { params: { id } }) => erasedBy(id),
      async ({ tx, now }, { params: { id }, body: { decision, records } }, erased) => {
        const asked = [...new Set(records)].sort()
        if (decision === 'restore' && isExpired(erased, now))
          throw new Problem(
            'expired',
            'The backup period of this erasure is over, so the ledger no longer has the renamed references. Nothing was restored.',
          )
        const ids = decision === 'rename' ? asked : asked.filter((one) => erased.items.has(one))
        for (const one of ids)
          await rejectUnderLegalHold(tx, { kind: isSkill(one) ? 'skill' : 'unit', id: one, agents: [] }, now)
        // Noted before the change: after a crash in between, the ledger names a record that was not renamed, which is harmless.
        if (decision === 'rename') await appendToLedger(id, referencesSource, ids)
        const pseudonyms = pseudonymsOf(erased)
        const names = new Map(erased.agents.map((name) => [pseudonymOf(name), name]))
        const to: Renaming =
          decision === 'rename' ? (name) => pseudonyms.get(name) ?? name : (name) => names.get(name) ?? name
        const how = { bearers: nobody, written: () => to, recorded: same }
        const units = await renameUnits(
          tx,
          ids.filter((one) => !isSkill(one)),
          how,
        )
        const changed = units + (await renameSkills(tx, ids.filter(isSkill), how))
        await withdrawAnswers(tx, ...ids)
        return {
          resourceId: id,
          details: { decision, records: asked.length, changed },
          body: { data: { changed, unchanged: asked.length - changed } },
        }
      },
    ),
  }
}
