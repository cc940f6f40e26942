import type { SensitiveFinding } from './findings.ts'

const fence = /^[ \t>]{0,12}(`{3,}|~{3,})/gm

/** Ranges of fenced code in a text. */
function fences(text: string): { start: number; end: number }[] {
  const found: { start: number; end: number }[] = []
  let open: { mark: string; start: number } | undefined
  for (const { 1: mark = '', index } of text.matchAll(fence)) {
    if (open === undefined) open = { mark, start: index }
    else if (mark.startsWith(open.mark)) {
      found.push({ start: open.start, end: index })
      open = undefined
    }
  }
  return found
}

/**
 * Removes findings of low confidence in code, configuration and logs, where placeholders and private addresses are normal. `isCode`: the
 * whole text is code; otherwise only its fences are.
 */
export function withoutPlaceholders(
  text: string,
  findings: readonly SensitiveFinding[],
  isCode = false,
): SensitiveFinding[] {
  if (findings.every(({ confidence }) => confidence === undefined)) return [...findings]
  const code = isCode ? [{ start: 0, end: text.length }] : fences(text)
  const isInCode = (place: number) => code.some(({ start, end }) => place >= start && place < end)
  return findings.filter(({ confidence, start }) => confidence === undefined || !isInCode(start))
}
