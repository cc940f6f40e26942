import { z } from 'zod'
import { visibilities } from '#lib/domains/knowledge/contract.ts'
import { InstructionFields, SanitizedPlaces } from '#lib/domains/sanitizer/contract.ts'
import { operation, sharedFields } from '#lib/kernel/operation.ts'
import { page } from '#lib/kernel/pages.ts'
import { Receipt } from '#lib/kernel/receipt.ts'
import { Corrected, narrowing, searching, searchResultFields } from '../search/contract.ts'
import { maxFiles } from './rules.ts'

export const SkillId = z
  .string()
  .regex(/^kp:skill:[A-Za-z0-9_-]{1,64}$/, 'is not the id of a skill')
  .meta({ description: 'For example kp:skill:6d961dbbe7e99e7f7c2cc1f2' })

const SkillMd = z
  .string()
  .min(1, 'must not be empty')
  .meta({ description: 'SKILL.md: front matter between two lines of ---, then Markdown' })
const Files = z
  .array(
    z
      .strictObject({
        path: z.string().meta({ description: 'Relative to the skill’s folder, with forward slashes' }),
        content: z.string(),
      })
      .meta({ id: 'SkillFile' }),
  )
  .max(maxFiles, `must have at most ${maxFiles} files`)
  .meta({ description: 'Text files that accompany SKILL.md' })
const Visibility = z.enum(visibilities)
/** Accepts SKILL.md under two names: clients of the open-source registry of the same name send the second. */
const named = {
  skill_md: SkillMd.optional(),
  skill_md_content: SkillMd.optional().meta({ description: 'An alias of `skill_md`', deprecated: true }),
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

const described = sharedFields('SkillDescription', {
  id: SkillId,
  agent_id: z.string(),
  name: z.string(),
  title: z.string().nullable().meta({ description: 'The given name, if `name` is derived from it' }),
  description: z.string(),
  version: z.string().nullable(),
  author: z.string().nullable(),
  license: z.string().nullable(),
  tags: z.array(z.string()),
  allowed_tools: z.array(z.string()).nullable().meta({ description: 'As in `allowed-tools`; null if it names none' }),
  visibility: Visibility,
  quality_score: z.number().meta({ description: 'Computed by the registry, 0–1' }),
  misrepresents: z.boolean().meta({ description: 'True if its text uses tools that `allowed-tools` does not name' }),
  undeclared_tools: z.array(z.string()).meta({ description: 'Those tools' }),
  instructions: InstructionFields,
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
})

export const SkillSummary = z.strictObject({ ...described, ...searchResultFields })
export type SkillSummary = z.output<typeof SkillSummary>

export const Skill = z
  .strictObject({
    ...described,
    kp: z
      .record(z.string(), z.unknown())
      .nullable()
      .meta({ description: 'The kp section of the front matter, as given' }),
    skill_md: z.string(),
    files: z.array(
      z.strictObject({
        path: z.string(),
        size: z.number().int().meta({ description: 'Bytes in UTF-8' }),
        sha256: z.string().meta({ description: 'Of the stored content, in hexadecimal' }),
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
  .refine((tags) => tags.length <= 20, 'must have at most 20 tags')

export const listSkills = operation({
  id: 'listSkills',
  method: 'get',
  path: '/v1/skills',
  summary: 'Search skills that you may see, or list them newest first',
  description:
    'With `q`, results are ranked by matches in name, description, tags, tools, text and files. `tags` accepts several tags, separated by commas, and returns skills that have all of them. To read SKILL.md and the files, read a single skill. Ranked results end after 500. `total` stops counting at 1,001.',
  permission: 'skills:read',
  audit: resource,
  query: z.strictObject({ ...searching, ...narrowing, tags: TagList.optional() }),
  contributed: true,
  output: page(SkillSummary).extend({ corrected: Corrected }),
})

export const contributeSkill = operation({
  id: 'contributeSkill',
  method: 'post',
  path: '/v1/skills',
  summary: 'Contribute a skill',
  description: `SKILL.md with its front matter (name, description, version?, author?, license?, tags?, allowed-tools?, kp?) and at most ${maxFiles} text files, all within your tier’s unit size. All content is sanitized before it is stored: Markdown keeps its code, other files keep their exact text. \`sanitized\` lists each changed place. You can use a name only once. Errors in the front matter are reported with their line.`,
  permission: 'skills:write',
  stores: 'one record',
  audit: resource,
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
    file: z.string().optional().meta({ description: 'Path of the file; SKILL.md if absent' }),
    line: z.number().int(),
    column: z.number().int().optional(),
    message: z.string(),
  })
  .meta({ id: 'SkillFault' })

export const validateSkill = operation({
  id: 'validateSkill',
  method: 'post',
  path: '/v1/skills/validate',
  summary: 'Validate a skill without storing it',
  description: 'Returns every error with its line, the warnings, and the values read from the front matter.',
  permission: 'skills:write',
  audit: { none: 'nothing is stored, and no stored data is read' },
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
  summary: 'Read a skill with its files',
  description:
    'Returns 404 for a skill that you cannot see. Returns 410 with the receipt’s id for a skill of yours that was erased.',
  permission: 'skills:read',
  audit: resource,
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
    'Fields that are sent replace the stored ones; `files` replaces all files. With If-Match, only the version that you read is changed. A token without the scope `read` receives only the texts that it sent.',
  permission: 'skills:write',
  stores: 'bytes',
  audit: resource,
  params,
  headers: z.object({ 'if-match': z.string().optional() }),
  body: z
    .strictObject({ skill_md: SkillMd.optional(), files: Files.optional(), visibility: Visibility.optional() })
    .refine((body) => Object.keys(body).length > 0, 'must contain at least one change'),
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
    'Erasure (GDPR art. 17) of SKILL.md and its files: they are immediately removed from all read paths. The erasure is verified and documented by a signed receipt, whose id is in X-Deletion-Receipt. With "Prefer: return=representation" the response is 200 with the receipt.',
  permission: 'skills:write',
  audit: resource,
  deletes: { by: 'erasure' },
  pool: 'erasures',
  status: 204,
  params,
  headers: z.object({ prefer: z.string().optional(), 'if-match': z.string().optional() }),
  output: Receipt,
  refusals: ['not_found', 'erased', 'precondition_failed', 'held'],
})
