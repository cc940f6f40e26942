import { randomUUID } from 'node:crypto'
import { RequestRefused } from '#lib/client/request.ts'
import {
  contributeSkill,
  correctSkill,
  listSkills,
  readSkill,
  type Skill,
} from '#lib/domains/knowledge/skills/contract.ts'
import type { PreparedSkill } from '#lib/domains/knowledge/skills/preparation.ts'
import type { JournalIdentity } from './contribution-journal.ts'
import type { ContributionOutcome } from './contribution-outcome.ts'
import type { CommandSession } from './session.ts'
import { examined } from './skill-judgement.ts'
import type { SkillSource } from './skill-source.ts'
import { patiently } from './unit-batches.ts'

/** Whether the registry's skill equals the local one, apart from sanitized content. */
function isSame(
  stored: Pick<Skill, 'skill_md' | 'files'>,
  { document, files }: Pick<PreparedSkill, 'document' | 'files'>,
): boolean {
  const listed = (all: readonly { path: string; sha256: string }[]) =>
    all
      .map(({ path, sha256 }) => `${path} ${sha256}`)
      .sort()
      .join('\n')
  return stored.skill_md === document && listed(stored.files) === listed(files)
}

interface ShelfOptions {
  agentId: string
  identity: JournalIdentity
  anew: boolean
  update: boolean
}

/** Contributes skills. A name is unique per author, so a taken name is looked up: it is the same skill, or another version of it. */
export function openSkillShelf(session: CommandSession, { agentId, identity, anew, update }: ShelfOptions) {
  let ownIds: Promise<Map<string, string>> | undefined

  /** Ids of the user's own skills by name. */
  async function own(): Promise<Map<string, string>> {
    const byName = new Map<string, string>()
    let cursor: string | undefined
    do {
      const query = { agent_id: agentId, limit: 100, ...(cursor !== undefined && { cursor }) }
      const { body } = await session.call(listSkills, { query })
      for (const { id, name } of body.data) byName.set(name, id)
      cursor = body.next_cursor ?? undefined
    } while (cursor !== undefined)
    return byName
  }

  /** The outcome for a skill with a taken name. Undefined when the name is not the user's own. */
  async function beside(
    source: string,
    skill: SkillSource,
    prepared: PreparedSkill,
  ): Promise<ContributionOutcome | undefined> {
    ownIds ??= own()
    const id = (await ownIds).get(prepared.frontMatter.name)
    if (id === undefined) return undefined
    const { body, headers } = await session.call(readSkill, { params: { id } })
    if (isSame(body.data, prepared))
      return { kind: 'skill', source, state: 'known', id, quality_score: body.data.quality_score }
    if (!update)
      return {
        kind: 'skill',
        source,
        state: 'failed',
        code: 'conflict',
        message: `You already have a skill with this name (${id}). It was not changed. Add --update to replace it.`,
      }
    const version = headers.get('etag')
    const changed = await session.call(correctSkill, {
      params: { id },
      headers: version === null ? {} : { 'if-match': version },
      body: { skill_md: skill.skill_md, files: skill.files },
    })
    return { ...answered(source, changed.body), state: 'updated' }
  }

  return {
    async put(source: string, skill: SkillSource): Promise<ContributionOutcome> {
      const { prepared, faults } = examined(skill)
      if (!prepared) return { kind: 'skill', source, state: 'failed', code: 'invalid', message: faults.join('; ') }
      const key = anew ? randomUUID() : `kp-skill-${identity.keyOf(skill)}`
      try {
        const { body, headers } = await patiently(
          (idempotencyKey) => session.call(contributeSkill, { body: skill }, { idempotencyKey }),
          key,
        )
        return { ...answered(source, body), state: headers.get('idempotency-replayed') === 'true' ? 'known' : 'stored' }
      } catch (error) {
        const isTaken = error instanceof RequestRefused && error.problem.code === 'conflict'
        const outcome = isTaken ? await beside(source, skill, prepared) : undefined
        if (outcome) return outcome
        throw error
      }
    },
  }
}

type Answered = ContributionOutcome & { state: 'stored' | 'known' | 'updated' }
const answered = (source: string, { data, warnings }: { data: Skill; warnings?: string[] | undefined }): Answered => ({
  kind: 'skill',
  source,
  state: 'stored',
  id: data.id,
  quality_score: data.quality_score,
  ...(warnings && { warnings }),
})
