import type { KnowledgeDeps } from '#lib/domains/knowledge/units/stored-unit.ts'
import type { DataSource, Subject } from '#lib/kernel/data-source.ts'
import { type Database, queryWithin } from '#lib/stores/postgres/database.ts'
import {
  chunked,
  countRemaining,
  holding,
  type PlannedRow,
  plannedOf,
  preferIndexes,
} from '#lib/stores/postgres/legal-hold-rows.ts'
import { joinKnowledgeHolds, knowledgeHoldSql, knowledgeHoldsSql } from './legal-holds.ts'
import { bearersOf, meansBy, meantMember, versionMeans } from './reference-meaning.ts'
import { type Renamings, renameSkills, renameUnits } from './renaming.ts'
import { erasedSubjectOf } from './subject.ts'
import type { AuthorPseudonym } from './suppression.ts'

/** Name of this data source in the ledger. */
export const referencesSource = 'knowledge.references'

const validated = "document->'metadata'->'validated_by'"
/** Units that contain one of the names $1 as a reference, in any version; every field has an index. */
export const naming = `SELECT id FROM units WHERE attributed_to = ANY($1::text[])
  UNION SELECT id FROM units WHERE original_author = ANY($1::text[])
  UNION SELECT u.id FROM unnest($1::text[]) AS n(name) JOIN units u ON u.${validated} IS NOT NULL AND u.${validated} @> to_jsonb(n.name)
  UNION SELECT unit_id FROM sop_versions WHERE document->'source'->>'expert_id' = ANY($1::text[])
  UNION SELECT v.unit_id FROM unnest($1::text[]) AS n(name) JOIN sop_versions v ON v.${validated} IS NOT NULL AND v.${validated} @> to_jsonb(n.name)`
const doing = `SELECT unit_id AS id FROM sop_versions WHERE created_by = ANY($1::text[])
  UNION SELECT unit_id FROM sop_versions WHERE approved_by IS NOT NULL AND approved_by = ANY($1::text[])`
export const skillsNaming = `SELECT id FROM skills WHERE front_matter->>'author' IS NOT NULL AND front_matter->>'author' = ANY($1::text[])`

/** Whether the document of `alias` names `m` as expert or validator. */
const namedIn = (alias: string): string =>
  `(${alias}.document->'source'->>'expert_id' = m.name OR ${alias}.${validated} ? m.name)`
/**
 * Whether the unit `u` or one of its versions means the subject. The registry itself recorded authors and approvers of versions, so those
 * always do.
 */
const unitMeans = `(EXISTS (SELECT FROM meant m WHERE ${meansBy('u')}
      AND (u.attributed_to = m.name OR u.original_author = m.name OR ${namedIn('u')}))
    OR EXISTS (SELECT FROM sop_versions v WHERE v.unit_id = u.id AND (v.created_by = ANY($1::text[]) OR v.approved_by = ANY($1::text[])
      OR EXISTS (SELECT FROM meant m WHERE ${versionMeans} AND ${namedIn('v')}))))`
const skillMeans = `EXISTS (SELECT FROM meant m WHERE ${meansBy('s')} AND s.front_matter->>'author' = m.name)`

/** $1 to $3: the bearers; $4: the subject's agents, whose own records are deleted; $5: the current time. */
const meant = meantMember('$1', '$2', '$3')
const unitsFrom = `FROM (${naming} UNION ${doing}) AS f JOIN units u ON u.id = f.id`
const skillsFrom = `FROM (${skillsNaming}) AS f JOIN skills s ON s.id = f.id`
const planUnits = `WITH ${knowledgeHoldsSql('unit', '$5')}, ${meant}
  SELECT u.id, ${knowledgeHoldSql} AS hold ${unitsFrom} ${joinKnowledgeHolds('u')} WHERE u.agent_id <> ALL($4::text[]) AND ${unitMeans}`
const planSkills = `WITH ${knowledgeHoldsSql('skill', '$5')}, ${meant}
  SELECT s.id, ${knowledgeHoldSql} AS hold ${skillsFrom} ${joinKnowledgeHolds('s')} WHERE s.agent_id <> ALL($4::text[]) AND ${skillMeans}`
const countOf = (plan: string): string => `SELECT count(*)::int AS n FROM (${plan}) AS p WHERE p.hold IS NULL`
/** Searches the documents of the items $4 directly instead of using the indexes. */
const countInDocuments = `WITH ${meant} SELECT ((SELECT count(*) FROM units u WHERE u.id = ANY($4::text[])
    AND EXISTS (SELECT FROM meant m WHERE ${meansBy('u')} AND ${namedIn('u')}))
  + (SELECT count(*) FROM sop_versions v JOIN units u ON u.id = v.unit_id WHERE v.unit_id = ANY($4::text[])
    AND EXISTS (SELECT FROM meant m WHERE ${versionMeans} AND ${namedIn('v')}))
  + (SELECT count(*) FROM skills s WHERE s.id = ANY($4::text[]) AND ${skillMeans}))::int AS n`

/**
 * References to the subject in others' units, SOPs and skills: attribution, `validated_by`, authors and approvers of versions. The records
 * belong to others and remain, with their scores; a one-way pseudonym replaces the name. An item is the id of such a record. Records that
 * only contain an equal name are neither changed nor counted; an admin decides about them.
 */
export const referencesDataSource = (
  db: Database,
  { withdrawAnswers, pseudonymOf }: Pick<KnowledgeDeps, 'withdrawAnswers'> & { pseudonymOf: AuthorPseudonym },
): DataSource => {
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
  const valuesOf = (subject: Subject): [string[], string[], string[]] => {
    const { names, kinds, ids } = bearersOf(subject)
    return [names, kinds, ids]
  }
  return {
    name: referencesSource,
    store: 'postgresql',
    stage: 'content',
    what: 'references in others’ units, SOPs and skills: replaced by a one-way pseudonym, and the records stay',
    held: 'others’ units, SOPs and skills that name the subject: as expert, first author, validator, or who approved them',
    purpose: 'saying whom knowledge came from, and who found it right',
    kept: 'as long as the record that they stand in',
    tables: [],
    inventory: (subject) =>
      holding(
        db,
        'references-held',
        `WITH ${meant} SELECT count(*)::int AS n, min(created_at) AS since FROM (
           SELECT u.created_at ${unitsFrom} WHERE u.agent_id <> ALL($4::text[]) AND ${unitMeans}
           UNION ALL SELECT s.created_at ${skillsFrom} WHERE s.agent_id <> ALL($4::text[]) AND ${skillMeans}) AS g`,
        [...valuesOf(subject), subject.agents],
      ),
    async plan(scope, tx, now) {
      const subject = erasedSubjectOf(scope)
      if (!subject) return { items: [], held: {} }
      await preferIndexes(tx)
      const values = [...valuesOf(subject), subject.agents, now]
      const units = await queryWithin<PlannedRow>(tx, 'plan-references', planUnits, values)
      return plannedOf([...units, ...(await queryWithin<PlannedRow>(tx, 'plan-skill-references', planSkills, values))])
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
    residue(scope, items, now) {
      const subject = erasedSubjectOf(scope)
      if (!subject) return Promise.resolve(0)
      const bearers = valuesOf(subject)
      return countRemaining(db, async (ask) => {
        await ask(countOf(planUnits), [...bearers, subject.agents, now])
        await ask(countOf(planSkills), [...bearers, subject.agents, now])
        for (const ids of chunked(items)) await ask(countInDocuments, [...bearers, ids])
      })
    },
  }
}
