import { attributedTo, qualityOf, warningsOf } from '#lib/domains/knowledge/rules.ts'
import { weightedTextsOf } from '#lib/domains/knowledge/search/unit-texts.ts'
import { searchVector } from '#lib/domains/knowledge/search/vector.ts'
import { idPrefix, Unit } from '#lib/domains/knowledge/unit.ts'
import { type FieldFindings, personalWarnings, scanFields, secretIn } from '#lib/domains/pii/fields.ts'
import {
  type InstructionField,
  instructionFields,
  instructionWarnings,
  type SanitizedPlace,
  sanitizedPlaces,
} from '#lib/domains/sanitizer/contract.ts'
import { sanitizeFields } from '#lib/domains/sanitizer/fields.ts'
import { newUuid } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'

/** A unit ready to be stored: sanitized, scored and indexed. */
export interface PreparedUnit {
  id: string
  type: Unit['@type']
  author: string
  attributedTo: string | null
  visibility: Unit['metadata']['visibility']
  domain: string
  document: Unit
  /** The document as JSON text for the database. */
  json: string
  /** The registry's own score, 0–1. */
  quality: number
  /** A `tsvector` in text form. */
  search: string
  warnings: string[]
  /** Where the texts quote, describe or encode instructions to a model, for readers. */
  instructions: InstructionField[]
  /** Personal data found in its texts; the warnings mention it. */
  found: readonly FieldFindings[]
  /** Number of fields that the sanitizer changed. */
  sanitized: number
  /** Where the sanitizer changed the unit. */
  sanitizedPlaces: SanitizedPlace[]
}

/**
 * Converts a sent unit to its stored form without storing it. The author is the given agent; the id is the sender's or a new one.
 * @throws {SanitizationError} also for a private key or seed phrase
 * @throws {Problem} `invalid` if nothing remains of a required field after sanitizing
 */
export function prepareUnit(sent: Unit, { author, strict }: { author: string; strict: boolean }): PreparedUnit {
  const { value, changes, encoded, quoted } = sanitizeFields(sent, { strict })
  // Sanitizing may have emptied a required field.
  const unit = changes.length === 0 ? sent : revalidated(value)
  const found = scanFields(unit)
  const secret = secretIn(found)
  if (secret) throw secret
  const id = unit.id ?? `${idPrefix(unit['@type'])}${newUuid().replaceAll('-', '')}`
  const document = { ...unit, id, metadata: { ...unit.metadata, agent_id: author } }
  const named = changes.slice(0, 10).map(({ path }) => path.join('.'))
  return {
    id,
    type: unit['@type'],
    author,
    attributedTo: attributedTo(unit),
    visibility: unit.metadata.visibility,
    domain: unit.metadata.task_domain,
    document,
    json: JSON.stringify(document),
    quality: qualityOf(unit),
    search: searchVector(weightedTextsOf(document)),
    warnings: [
      ...warningsOf(unit),
      ...(changes.length > 0
        ? [`Markup was removed or characters were normalized in ${changes.length} field(s): ${named.join(', ')}.`]
        : []),
      ...instructionWarnings(encoded, quoted),
      ...personalWarnings(found),
    ],
    instructions: instructionFields(encoded, quoted),
    found,
    sanitized: changes.length,
    sanitizedPlaces: sanitizedPlaces(changes),
  }
}

/** The places as JSON text for the database; null if there are none. */
export const storedInstructions = ({ instructions }: Pick<PreparedUnit, 'instructions'>): string | null =>
  instructions.length > 0 ? JSON.stringify(instructions) : null

function revalidated(value: unknown): Unit {
  const parsed = Unit.safeParse(value)
  if (parsed.success) return parsed.data
  const issues = parsed.error.issues.map((issue) => ({
    path: issue.path.map((step) => (typeof step === 'symbol' ? String(step) : step)),
    message: `${issue.message} (after markup was removed)`,
  }))
  throw new Problem('invalid', {
    detail: 'A required field is empty after markup was removed. Send it as plain text.',
    issues,
  })
}
