import { type Recognise, withNames } from '#lib/domains/pii/analyzer.ts'
import { finding } from '#lib/domains/pii/findings.ts'
import type { Json, Shareable } from './strip-rules.ts'
import { type Found, inWord } from './strip-texts.ts'

/** Every text of a JSON value, names of keys too. */
function textsOf(value: Json): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  if (Array.isArray(value)) return value.flatMap(textsOf)
  return Object.entries(value).flatMap(([name, child]) => [name, ...textsOf(child)])
}

/** What stands instead of what was taken out says nothing: it is covered, as a key would be. */
const covered = 'private_key'
const markForm = /‹[a-z_]{2,20}:\d{1,6}›/g
const marksOf = (text: string) =>
  [...text.matchAll(markForm)].map(({ 0: mark, index }) => finding(covered, index, index + mark.length, 1))

/** To the ends of the words that it begins and ends in. */
function wholeWords(text: string, start: number, end: number): string {
  const joins = (at: number) => inWord.test(text.charAt(at - 1)) && inWord.test(text.charAt(at))
  let [from, until] = [start, end]
  while (joins(from)) from -= 1
  while (joins(until)) until += 1
  return text.slice(from, until)
}

/**
 * Who and which places an analyzer finds in an entry that was stripped without it: nothing that is taken out by its form is sent there.
 * `isDegraded`: it did not answer for all of it. Without an analyzer nothing is asked and nothing missed.
 */
export async function recognised(
  recognise: Recognise | undefined,
  { content, provenance, tags, parents }: Shareable,
): Promise<{ found: Found[]; isDegraded: boolean }> {
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
