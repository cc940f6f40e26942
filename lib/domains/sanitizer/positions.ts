import type { Removal } from './gaps.ts'

/** Maps an offset in a changed text to the original text. Costs nothing until it is called. */
export class Trail {
  readonly #steps: ((offset: number) => number)[] = []

  cut(cuts: readonly Removal[]): void {
    this.#steps.push((offset) => beforeCuts(cuts, offset))
  }

  composed(before: string): void {
    this.#steps.push((offset) => beforeComposing(before, offset))
  }

  back(offset: number): number {
    return this.#steps.reduceRight((position, step) => step(position), offset)
  }
}

function beforeCuts(cuts: readonly Removal[], offset: number): number {
  let position = offset
  for (const cut of cuts) {
    if (cut.start > position) break
    const { length } = cut.fill ?? ''
    if (position < cut.start + length) return cut.start
    position += cut.end - cut.start - length
  }
  return position
}

/**
 * NFC never joins a character with a following ASCII character, so the pieces between ASCII runs compose independently. Within a piece the
 * offset is exact before the first and after the last changed character.
 */
function beforeComposing(before: string, offset: number): number {
  let start = 0
  let composedStart = 0
  for (const [piece] of before.matchAll(/[\0-\x7f]*[^\0-\x7f]*/g)) {
    const composed = piece.normalize('NFC')
    if (offset < composedStart + composed.length) return start + within(piece, composed, offset - composedStart)
    start += piece.length
    composedStart += composed.length
  }
  return start
}

function within(piece: string, composed: string, offset: number): number {
  let same = 0
  while (same < offset && piece[same] === composed[same]) same += 1
  if (same === offset) return offset
  const fromEnd = composed.length - offset
  return piece.slice(-fromEnd) === composed.slice(-fromEnd) ? piece.length - fromEnd : same
}
