import { collapse } from './collapse.ts'
import { Fills, type Removal, wider } from './gaps.ts'
import type { Range } from './markdown-lines.ts'
import { sweepText } from './sweep.ts'
import { type Cut, opensMarkup, type TextKind } from './tags.ts'

/** The remaining text; `rounds` contains the cuts of each round, as offsets into the text at its beginning. */
export type StrippedMarkup = {
  text: string
  rounds: (Removal & { what?: Cut['what'] })[][]
  comments: number
  tags: number
}

const ROUNDS = 4
const LESS = 60

/**
 * Stages 1 and 2: removes comments and tags until none remains. A round parses like a browser, then removes markup that the cuts created.
 * Text that still changes after four rounds was crafted to; it loses every `<` that could begin markup, so the process always ends. Linear
 * in the length of the text.
 */
export function stripMarkup(text: string, kind: TextKind, isStrict = false): StrippedMarkup {
  const done: StrippedMarkup = { text, rounds: [], comments: 0, tags: 0 }
  for (let round = 0; round < ROUNDS; round += 1) {
    const { cuts, code } = sweepText(done.text, kind, isStrict)
    if (cuts.length === 0) return done
    let comments = 0
    for (const { what } of cuts) if (what === 'comment') comments += 1
    apply(done, cuts, comments, cuts.length - comments)
    const nested = collapse(done.text, shift(code, cuts), kind)
    apply(done, nested.cuts, nested.comments, nested.tags)
  }
  return disarm(done)
}

/** Removes every `<` that could begin markup, and thereby all markup. */
export function disarm(done: StrippedMarkup): StrippedMarkup {
  const { text } = done
  const cuts: Range[] = []
  let next = Number.NaN
  for (let at = text.length - 1; at >= 0; at -= 1) {
    const code = text.charCodeAt(at)
    if (code === LESS && opensMarkup(next)) cuts.push({ start: at, end: at + 1 })
    else next = code
  }
  return apply(done, cuts.reverse(), 0, cuts.length)
}

function apply(
  done: StrippedMarkup,
  cuts: StrippedMarkup['rounds'][number],
  comments: number,
  tags: number,
): StrippedMarkup {
  if (cuts.length === 0) return done
  const { text } = done
  const fills = new Fills(text)
  const kept: string[] = []
  let position = 0
  let begin = 0
  let gap: Removal['gap']
  for (const [index, cut] of cuts.entries()) {
    if (cut.start > position) {
      kept.push(text.slice(position, cut.start))
      begin = cut.start
      gap = undefined
    }
    gap = wider(gap, cut.gap)
    position = cut.end
    // Adjacent cuts are one gap.
    if (cuts[index + 1]?.start === position) continue
    const fill = fills.of({ start: begin, end: position }, gap)
    if (fill === '') continue
    cut.fill = fill
    kept.push(fill)
  }
  kept.push(text.slice(position))
  done.text = kept.join('')
  done.rounds.push(cuts)
  done.comments += comments
  done.tags += tags
  return done
}

/** Offsets of code ranges after the cuts. */
function shift(code: readonly Range[], cuts: readonly Cut[]): Range[] {
  let index = 0
  let removed = 0
  return code.map(({ start, end }) => {
    for (let cut = cuts[index]; cut && cut.end <= start; cut = cuts[index]) {
      removed += cut.end - cut.start - (cut.fill ?? '').length
      index += 1
    }
    return { start: start - removed, end: end - removed }
  })
}
