import { invalid, Problem } from '#lib/kernel/problem.ts'
import { SanitizationError } from './sanitization-error.ts'
import { sanitize } from './sanitizer.ts'

/**
 * Sanitizes a person's text as plain text. `kept` is a sentence about the outcome for the error message.
 * @throws {Problem} `content_rejected` with stage, field and position; `invalid` if nothing remains
 */
export function plainTextPhrases(text: string, field: string, strict: boolean, kept = 'Nothing was changed.'): string {
  try {
    const words = sanitize(text, 'plain', { strict }).text.trim()
    if (words === '') throw invalid([field], 'is empty after markup is removed')
    return words
  } catch (error) {
    if (!SanitizationError.is(error)) throw error
    const { stage, rule, place } = error
    throw new Problem('content_rejected', {
      detail: `The text was rejected at the stage "${stage}" (${rule}). ${kept}`,
      issues: [{ path: [field], message: `${rule} at character ${place}` }],
      extensions: { stage, field, place },
    })
  }
}
