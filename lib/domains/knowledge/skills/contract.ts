import { z } from 'zod'
import { SanitizedPlaces } from '#lib/domains/sanitizer/contract.ts'
import { operation } from '#lib/kernel/operation.ts'
import { page } from '#lib/kernel/pages.ts'
import { Receipt } from '#lib/kernel/receipt.ts'
import { Corrected, narrowing, searching, searchResultFields } from '../search/contract.ts'
import { visibilities } from '../unit.ts'
import { mostFiles } from './rules.ts'

export const SkillId = z
  .string()
  .regex(/^kp:skill:[A-Za-z0-9_-]{1,64}$/, 'is not the id of a skill')
  .meta({ description: 'Such as kp:skill:6d961dbbe7e99e7f7c2cc1f2' })

const SkillMd = z
  .string()
  .min(1, 'must not be empty')
  .meta({ description: 'SKILL.md: front matter between two lines of ---, then Markdown' })
const Files = z
  .array(
    z.strictObject({
      path: z.string().meta({ description: 'Relative to the skill’s folder, with forward slashes' }),
      content: z.string(),
    }),
  )
  .max(mostFiles, `takes ${mostFiles} at most`)
  .meta({ description: 'Text files beside SKILL.md' })
const Visibility = z.enum(visibilities)
/** Accepts SKILL.md under two names: clients of the open-source registry of the same name send the second. */
const named = {
  skill_md: SkillMd.optional(),
  skill_md_content: SkillMd.optional().meta({ description: 'Another name of `skill_md`', deprecated: true }),
}
interface NamedText {
  skill_md?: string | undefined
  skill_md_content?: string | undefined
}
const hasOneText = ({ skill_md, skill_md_content }: NamedText) =>
  (skill_md === undefined) !== (skill_md_content === undefined)
const oneText = { path: ['skill_md'], message: 'is required exactly once' }
const underOneName = <T extends NamedText>({ skill_md_content, skill_md = skill_md_content ?? '', ...rest }: T) => ({
  ...rest,
  skill_md,
})

const described = {
  id: SkillId,
  agent_id: z.string(),
  name: z.string(),
  title: z.string().nullable().meta({ description: 'The given name, where `name` is derived from it' }),
  description: z.string(),
  version: z.string().nullable(),
  author: z.string().nullable(),
  license: z.string().nullable(),
  tags: z.array(z.string()),
  allowed_tools: z
    .array(z.string())
    .nullable()
    .meta({ description: 'As `allowed-tools` names them; null where it names none' }),
  visibility: Visibility,
  quality_score: z.number().meta({ description: 'The registry’s own, 0–1' }),
  misrepresents: z.boolean().meta({ description: 'Its text uses tools that its `allowed-tools` does not name' }),
  undeclared_tools: z.array(z.string()).meta({ description: 'Those tools' }),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
}

export const SkillSummary = z.strictObject({ ...described, ...searchResultFields })
export type SkillSummary = z.output<typeof SkillSummary>

export const Skill = z
  .strictObject({
    ...described,
    kp: z.record(z.string(), z.unknown()).nullable().meta({ description: 'The front matter’s kp{…}, as it was given' }),
    skill_md: z.string(),
    files: z.array(
      z.strictObject({
        path: z.string(),
        size: z.number().int().meta({ description: 'Bytes in UTF-8' }),
        sha256: z.string().meta({ description: 'Of the content as stored, hexadecimal' }),
        content: z.string(),
      }),
    ),
  })
  .meta({ id: 'Skill' })
export type Skill = z.output<typeof Skill>

const Warnings = z.array(z.string())
const Stored = z.strictObject({ data: Skill, warnings: Warnings.optional(), sanitized: SanitizedPlaces })
const params = z.strictObject({ id: SkillId })
const resource = { resourceType: 'skill' }

const TagList = z
  .string()
  .max(500)
  .transform((text) => [...new Set(text.split(',').flatMap((tag) => tag.trim().toLowerCase() || []))])
  .refine((tags) => tags.length <= 20, 'takes 20 tags at most')

export const listSkills = operation({
  id: 'listSkills',
  method: 'get',
  path: '/v1/skills',
  summary: 'Skills that you may see: searched, or newest first',
  description:
    'With `q` ranked by how well name, description, tags, tools, text and files match. `tags` takes several, separated by commas, and finds skills that have all of them. SKILL.md and the files are read one skill at a time. Ranked results end after 500. `total` stops counting at 1,001.',
  permission: 'skills:read',
  audit: { action: 'read', ...resource },
  limit: 'read',
  status: 200,
  query: z.strictObject({ ...searching, ...narrowing, tags: TagList.optional() }),
  contributed: true,
  output: page(SkillSummary).extend({ corrected: Corrected }),
})

export const contributeSkill = operation({
  id: 'contributeSkill',
  method: 'post',
  path: '/v1/skills',
  summary: 'Contribute a skill',
  description: `SKILL.md with its front matter (name, description, version?, author?, license?, tags?, allowed-tools?, kp?) and up to ${mostFiles} text files, all of it within your tier’s unit size. Everything is sanitized before it is stored: Markdown keeps its code, other files keep their text exactly; \`sanitized\` names each place that was changed. A name is yours once. A fault in the front matter is named with its line.`,
  permission: 'skills:write',
  stores: 'one record',
  audit: { action: 'create', ...resource },
  limit: 'write',
  status: 201,
  body: z
    .strictObject({ ...named, files: Files.default([]), visibility: Visibility.default('network') })
    .refine(hasOneText, oneText)
    .transform(underOneName),
  bodyLimit: 'unit',
  contributed: true,
  output: Stored,
  refusals: ['content_rejected', 'conflict', 'restricted'],
})

const Fault = z
  .strictObject({
    file: z.string().optional().meta({ description: 'Which file; SKILL.md where none is named' }),
    line: z.number().int(),
    column: z.number().int().optional(),
    message: z.string(),
  })
  .meta({ id: 'SkillFault' })

export const validateSkill = operation({
  id: 'validateSkill',
  method: 'post',
  path: '/v1/skills/validate',
  summary: 'Check a skill; nothing is stored',
  description: 'Every fault with its line, what would be warned of, and what would be read from the front matter.',
  permission: 'skills:write',
  audit: { none: 'nothing is stored and nothing of anybody’s is read' },
  limit: 'write',
  status: 200,
  body: z
    .strictObject({ ...named, files: Files.default([]) })
    .refine(hasOneText, oneText)
    .transform(underOneName),
  bodyLimit: 'unit',
  contributed: true,
  output: z.strictObject({
    data: z.strictObject({
      valid: z.boolean(),
      faults: z.array(Fault),
      warnings: Warnings,
      name: z.string().nullable(),
      description: z.string().nullable(),
      misrepresents: z.boolean(),
      undeclared_tools: z.array(z.string()),
      quality_score: z.number().nullable(),
      sanitized: SanitizedPlaces,
    }),
  }),
})

export const readSkill = operation({
  id: 'readSkill',
  method: 'get',
  path: '/v1/skills/{id}',
  summary: 'Read one skill with its files',
  description: 'What you may not see is a 404. A skill of yours that was erased is a 410 with its receipt’s id.',
  permission: 'skills:read',
  audit: { action: 'read', ...resource },
  limit: 'read',
  status: 200,
  params,
  contributed: true,
  output: z.strictObject({ data: Skill }),
  refusals: ['not_found', 'erased'],
})

export const correctSkill = operation({
  id: 'correctSkill',
  method: 'patch',
  path: '/v1/skills/{id}',
  summary: 'Change a skill of your own',
  description:
    'What is given takes the place of what was there; `files` gives all of them. With If-Match it changes only the version that you read. A token without the scope `read` gets only the texts that it sent.',
  permission: 'skills:write',
  stores: 'bytes',
  audit: { action: 'update', ...resource },
  limit: 'write',
  status: 200,
  params,
  headers: z.object({ 'if-match': z.string().optional() }),
  body: z
    .strictObject({ skill_md: SkillMd.optional(), files: Files.optional(), visibility: Visibility.optional() })
    .refine((body) => Object.keys(body).length > 0, 'says nothing to change'),
  bodyLimit: 'unit',
  contributed: true,
  output: Stored,
  refusals: ['not_found', 'erased', 'precondition_failed', 'content_rejected', 'conflict', 'restricted'],
})

export const eraseSkill = operation({
  id: 'eraseSkill',
  alsoStatus: [200],
  method: 'delete',
  path: '/v1/skills/{id}',
  summary: 'Erase a skill of your own',
  description:
    'Erasure (GDPR art. 17) of SKILL.md and its files: gone from every read path at once, verified, and attested by a signed receipt, whose id is in X-Deletion-Receipt. With "Prefer: return=representation" the answer is 200 and the receipt.',
  permission: 'skills:write',
  audit: { action: 'delete', ...resource },
  deletes: { by: 'erasure' },
  pool: 'erasures',
  limit: 'write',
  status: 204,
  params,
  headers: z.object({ prefer: z.string().optional(), 'if-match': z.string().optional() }),
  output: Receipt,
  refusals: ['not_found', 'erased', 'precondition_failed', 'held'],
})
