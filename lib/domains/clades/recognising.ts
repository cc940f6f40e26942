import { type Recognise, withNames } from '#lib/domains/pii/analyzer.ts'
import { finding } from '#lib/domains/pii/findings.ts'
import type { JsonTree, ShareableEntry } from './strip-rules.ts'
import { type AnalyzerMatch, wordBoundaries } from './strip-texts.ts'

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
export async function recognised(
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
