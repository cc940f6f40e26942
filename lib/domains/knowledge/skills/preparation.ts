import { createHash } from 'node:crypto'
import { withoutPlaceholders } from '#lib/domains/pii/code-places.ts'
import { type FieldFindings, personalWarnings, scanFields, secretIn } from '#lib/domains/pii/fields.ts'
import {
  type InstructionField,
  instructionFields,
  instructionWarnings,
  type SanitizedPlace,
  sanitizedPlaces,
} from '#lib/domains/sanitizer/contract.ts'
import { type JsonPathStep, SanitizationError } from '#lib/domains/sanitizer/sanitization-error.ts'
import {
  type FieldChange,
  type FieldPlace,
  type Sanitized,
  sanitize,
  sanitizeSkillMd,
} from '#lib/domains/sanitizer/sanitizer.ts'
import { type Issue, Problem } from '#lib/kernel/problem.ts'
import { searchVector, type WeightedText } from '../search/words.ts'
import { type ParsedSkillMd, parseSkillMd } from './front-matter.ts'
import { pathFaults } from './paths.ts'
import type { SkillFile } from './repository.ts'
import { type Fault, type FrontMatter, skillQuality } from './rules.ts'
import { undeclaredTools } from './tool-use.ts'
import type { ReadText } from './yaml-subset.ts'

interface SentSkill {
  skill_md: string
  files: readonly { path: string; content: string }[]
}
/** A skill ready to be stored: sanitized, scored and indexed. */
export interface PreparedSkill {
  frontMatter: FrontMatter
  /** SKILL.md as stored. */
  document: string
  files: SkillFile[]
  undeclaredTools: string[]
  /** Where the texts quote, describe or encode instructions to a model, for readers. */
  instructions: InstructionField[]
  /** The registry's own score, 0–1. */
  quality: number
  /** A `tsvector` in text form. */
  search: string
  /** Number of texts that the sanitizer changed. */
  sanitized: number
  /** Where the sanitizer changed the skill. */
  sanitizedPlaces: SanitizedPlace[]
}
/** Complete result of examining a skill. It can be stored if there are neither faults nor rejections. */
interface Examination {
  skill: PreparedSkill | undefined
  faults: (Fault & { path: JsonPathStep[] })[]
  rejections: SanitizationError[]
  warnings: string[]
  /** Personal data found in its texts; the warnings mention it. */
  found: readonly FieldFindings[]
}

const isMarkdown = (path: string): boolean => /\.(?:md|markdown|mdx)$/i.test(path)
const quoted = (text: string): string => JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)

/** Detects content hidden by YAML escapes: a text that the sanitizer would reject or change after parsing. */
function hidden({ text, place, line, column, key }: ReadText, strict: boolean): SanitizationError | undefined {
  const path = ['skill_md', key]
  try {
    const { text: clean, removed, normalized } = sanitize(text, 'markdown', { strict })
    if (clean === text) return undefined
    const stage = removed.comments > 0 ? 'html-comment' : removed.tags > 0 || !normalized ? 'html-tag' : 'nfc'
    return new SanitizationError({ stage, rule: 'hidden-by-escapes', place, line, column, path })
  } catch (error) {
    if (!SanitizationError.is(error)) throw error
    return new SanitizationError({ stage: error.stage, rule: error.rule, place, line, column, path })
  }
}

const inText = (path: JsonPathStep[], text: string, isCode: boolean): FieldFindings[] =>
  scanFields(text).flatMap((field) => {
    const findings = withoutPlaceholders(text, field.findings, isCode)
    return findings.length > 0 ? [{ ...field, findings, path }] : []
  })

/** Texts under the paths that {@link examineSkill} reports. */
export const skillTextsOf = ({ document, files }: Pick<PreparedSkill, 'document' | 'files'>) => ({
  skill_md: document,
  files: files.map(({ content }) => ({ content })),
})

/** All searchable texts of a skill: name and description first, then tags and tools, then its Markdown and files. */
export const skillTexts = (
  { name, description, tags, allowed_tools, author }: FrontMatter,
  body: string,
  files: readonly { path: string; content: string }[],
): WeightedText[] => [
  { weight: 'A', text: name },
  { weight: 'A', text: description },
  ...[...tags, ...(allowed_tools ?? [])].map((text) => ({ weight: 'B' as const, text })),
  ...(author === null ? [] : [{ weight: 'D' as const, text: author }]),
  { weight: 'D', text: body },
  ...files.flatMap(({ path, content }) => [
    { weight: 'D' as const, text: path },
    { weight: 'D' as const, text: content },
  ]),
]

/** Sanitizes and checks an entire skill and collects all problems. Pure; linear in its length. */
export function examineSkill(sent: SentSkill, { strict }: { strict: boolean }): Examination {
  const faults: Examination['faults'] = []
  const rejections: SanitizationError[] = []
  const changed: string[] = []
  const changes: Pick<FieldChange, 'path' | 'places'>[] = []
  const encodings: FieldPlace[] = []
  const quotations: FieldPlace[] = []
  const attempt = (path: JsonPathStep[], label: string, text: string, clean: () => Sanitized): string | undefined => {
    try {
      const { text: cleaned, places: positions, encoded, quoted } = clean()
      if (cleaned !== text) {
        changed.push(label)
        changes.push({ path, places: positions })
      }
      for (const place of encoded) encodings.push({ path, place })
      for (const place of quoted) quotations.push({ path, place })
      return cleaned
    } catch (error) {
      if (!SanitizationError.is(error)) throw error
      rejections.push(error.within(path))
      return undefined
    }
  }

  const document = attempt(['skill_md'], 'SKILL.md', sent.skill_md, () => sanitizeSkillMd(sent.skill_md, { strict }))
  const parsed = document === undefined ? undefined : readable(document, sent.skill_md)
  faults.push(...(parsed?.faults ?? []).map((fault) => ({ ...fault, path: ['skill_md'] })))
  rejections.push(...(parsed?.texts ?? []).flatMap((text) => hidden(text, strict) ?? []))

  for (const { index, message } of pathFaults(sent.files.map(({ path }) => path))) {
    const file = sent.files[index]?.path ?? ''
    faults.push({ file, line: 1, message: `${quoted(file)} ${message}`, path: ['files', index, 'path'] })
  }
  const files = sent.files.flatMap(({ path, content }, index) => {
    const name = attempt(['files', index, 'path'], quoted(path), path, () => sanitize(path, 'plain', { strict }))
    if (name !== undefined && name !== path && !faults.some((fault) => fault.path[1] === index))
      faults.push({ file: path, line: 1, message: `${quoted(path)} contains markup`, path: ['files', index, 'path'] })
    const kind = isMarkdown(path) ? 'markdown' : 'code'
    const clean = attempt(['files', index, 'content'], quoted(path), content, () => sanitize(content, kind, { strict }))
    return clean === undefined ? [] : [fileOf(path, clean)]
  })

  const found = [
    ...(document === undefined ? [] : inText(['skill_md'], document, false)),
    ...files.flatMap(({ path, content }, index) => inText(['files', index, 'content'], content, !isMarkdown(path))),
  ]
  const secret = secretIn(found)
  if (secret) rejections.push(secret)

  const warnings = [
    ...(parsed?.warnings ?? []),
    ...instructionWarnings(encodings, quotations),
    ...personalWarnings(found),
  ]
  if (changed.length > 0)
    warnings.push(
      `Markup was removed or characters were normalized in ${changed.length} text(s): ${changed.slice(0, 10).join(', ')}.`,
    )
  if (document === undefined || !parsed?.frontMatter || faults.length > 0 || rejections.length > 0)
    return { skill: undefined, faults, rejections, warnings, found }
  const { frontMatter, body } = parsed
  const markdown = files.filter(({ path }) => isMarkdown(path)).map(({ content }) => content)
  const undeclared = undeclaredTools([frontMatter.description, body, ...markdown], frontMatter.allowed_tools)
  if (undeclared.length > 0)
    warnings.push(`The text uses tools that allowed-tools does not name: ${undeclared.slice(0, 10).join(', ')}.`)
  return {
    skill: {
      frontMatter,
      document,
      files,
      undeclaredTools: undeclared,
      instructions: instructionFields(encodings, quotations),
      quality: skillQuality(frontMatter, {
        bodyLength: body.trim().length,
        files: files.length,
        misrepresents: undeclared.length > 0,
      }),
      search: searchVector(skillTexts(frontMatter, body, files)),
      sanitized: changed.length,
      sanitizedPlaces: sanitizedPlaces(changes),
    },
    faults,
    rejections,
    warnings,
    found,
  }
}

/** Reports faults with their lines in the sent text, and marks faults that only sanitizing caused. */
function readable(document: string, sent: string): ParsedSkillMd {
  const parsed = parseSkillMd(document)
  if (parsed.faults.length === 0 || document === sent) return parsed
  const asSent = parseSkillMd(sent).faults
  const cleaned = parsed.faults.map((fault) => ({ ...fault, message: `${fault.message} (after markup was removed)` }))
  return { ...parsed, faults: asSent.length > 0 ? asSent : cleaned }
}

const fileOf = (path: string, content: string): SkillFile => ({
  path,
  content,
  size: Buffer.byteLength(content),
  sha256: createHash('sha256').update(content).digest('hex'),
})

/**
 * Converts a sent skill to its stored form.
 * @throws {SanitizationError}
 * @throws {Problem} `too_large`; `invalid` with every fault and its line
 */
export function prepareSkill(
  sent: SentSkill,
  { strict, maxBytes }: { strict: boolean; maxBytes: number },
): Pick<Examination, 'warnings' | 'found'> & { skill: PreparedSkill } {
  const { skill, faults, rejections, warnings, found } = examineSkill(sent, { strict })
  if (rejections[0]) throw rejections[0]
  if (!skill) throw faulty(faults)
  const bytes = skill.files.reduce((sum, { size }) => sum + size, Buffer.byteLength(skill.document))
  if (bytes > maxBytes)
    throw new Problem(
      'too_large',
      `SKILL.md and its files have ${bytes.toLocaleString('en')} bytes; the limit is ${maxBytes.toLocaleString('en')}. Nothing was stored.`,
    )
  return { skill, warnings, found }
}

function faulty(faults: Examination['faults']): Problem {
  const issues: Issue[] = faults.map(({ path, file, line, column, message }) => ({
    path,
    message:
      file === undefined ? `line ${line}${column === undefined ? '' : `, column ${column}`}: ${message}` : message,
  }))
  return new Problem('invalid', {
    detail: `${faults.length === 1 ? 'The skill has one error' : `The skill has ${faults.length} errors`}. Nothing was stored.`,
    issues: issues.slice(0, 100),
    extensions: { faults: faults.slice(0, 100).map(({ path: _, ...fault }) => fault) },
  })
}
